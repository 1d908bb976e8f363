-- The SQL door: jobs enqueued by any language, trigger or shell, under the rules and in the words of the
-- library (job/new.rs and what it calls); and one view over all jobs. docs/adr/0013-sql-door.md says why.
-- What the door calls has no search_path of its own: that of longshore.enqueue holds.

-- Whether a character must not stand in a name: control, format or unassigned, in the Unicode version of the
-- library. A test makes the list anew and compares.
create function longshore.is_hidden(code int) returns boolean
    language sql
    immutable
as $$
    select code <@ '{
        [0,32),[127,160),[173,174),[888,890),[896,900),[907,908),[909,910),[930,931),[1328,1329),[1367,1369),
        [1419,1421),[1424,1425),[1480,1488),[1515,1519),[1525,1542),[1564,1565),[1757,1758),[1806,1808),[1867,1869),
        [1970,1984),[2043,2045),[2094,2096),[2111,2112),[2140,2142),[2143,2144),[2155,2160),[2191,2199),[2274,2275),
        [2436,2437),[2445,2447),[2449,2451),[2473,2474),[2481,2482),[2483,2486),[2490,2492),[2501,2503),[2505,2507),
        [2511,2519),[2520,2524),[2526,2527),[2532,2534),[2559,2561),[2564,2565),[2571,2575),[2577,2579),[2601,2602),
        [2609,2610),[2612,2613),[2615,2616),[2618,2620),[2621,2622),[2627,2631),[2633,2635),[2638,2641),[2642,2649),
        [2653,2654),[2655,2662),[2679,2689),[2692,2693),[2702,2703),[2706,2707),[2729,2730),[2737,2738),[2740,2741),
        [2746,2748),[2758,2759),[2762,2763),[2766,2768),[2769,2784),[2788,2790),[2802,2809),[2816,2817),[2820,2821),
        [2829,2831),[2833,2835),[2857,2858),[2865,2866),[2868,2869),[2874,2876),[2885,2887),[2889,2891),[2894,2901),
        [2904,2908),[2910,2911),[2916,2918),[2936,2946),[2948,2949),[2955,2958),[2961,2962),[2966,2969),[2971,2972),
        [2973,2974),[2976,2979),[2981,2984),[2987,2990),[3002,3006),[3011,3014),[3017,3018),[3022,3024),[3025,3031),
        [3032,3046),[3067,3072),[3085,3086),[3089,3090),[3113,3114),[3130,3132),[3141,3142),[3145,3146),[3150,3157),
        [3159,3160),[3163,3165),[3166,3168),[3172,3174),[3184,3191),[3213,3214),[3217,3218),[3241,3242),[3252,3253),
        [3258,3260),[3269,3270),[3273,3274),[3278,3285),[3287,3293),[3295,3296),[3300,3302),[3312,3313),[3316,3328),
        [3341,3342),[3345,3346),[3397,3398),[3401,3402),[3408,3412),[3428,3430),[3456,3457),[3460,3461),[3479,3482),
        [3506,3507),[3516,3517),[3518,3520),[3527,3530),[3531,3535),[3541,3542),[3543,3544),[3552,3558),[3568,3570),
        [3573,3585),[3643,3647),[3676,3713),[3715,3716),[3717,3718),[3723,3724),[3748,3749),[3750,3751),[3774,3776),
        [3781,3782),[3783,3784),[3791,3792),[3802,3804),[3808,3840),[3912,3913),[3949,3953),[3992,3993),[4029,4030),
        [4045,4046),[4059,4096),[4294,4295),[4296,4301),[4302,4304),[4681,4682),[4686,4688),[4695,4696),[4697,4698),
        [4702,4704),[4745,4746),[4750,4752),[4785,4786),[4790,4792),[4799,4800),[4801,4802),[4806,4808),[4823,4824),
        [4881,4882),[4886,4888),[4955,4957),[4989,4992),[5018,5024),[5110,5112),[5118,5120),[5789,5792),[5881,5888),
        [5910,5919),[5943,5952),[5972,5984),[5997,5998),[6001,6002),[6004,6016),[6110,6112),[6122,6128),[6138,6144),
        [6158,6159),[6170,6176),[6265,6272),[6315,6320),[6390,6400),[6431,6432),[6444,6448),[6460,6464),[6465,6468),
        [6510,6512),[6517,6528),[6572,6576),[6602,6608),[6619,6622),[6684,6686),[6751,6752),[6781,6783),[6794,6800),
        [6810,6816),[6830,6832),[6863,6912),[6989,6990),[7156,7164),[7224,7227),[7242,7245),[7307,7312),[7355,7357),
        [7368,7376),[7419,7424),[7958,7960),[7966,7968),[8006,8008),[8014,8016),[8024,8025),[8026,8027),[8028,8029),
        [8030,8031),[8062,8064),[8117,8118),[8133,8134),[8148,8150),[8156,8157),[8176,8178),[8181,8182),[8191,8192),
        [8203,8208),[8234,8239),[8288,8304),[8306,8308),[8335,8336),[8349,8352),[8385,8400),[8433,8448),[8588,8592),
        [9258,9280),[9291,9312),[11124,11126),[11158,11159),[11508,11513),[11558,11559),[11560,11565),[11566,11568),
        [11624,11631),[11633,11647),[11671,11680),[11687,11688),[11695,11696),[11703,11704),[11711,11712),[11719,11720),
        [11727,11728),[11735,11736),[11743,11744),[11870,11904),[11930,11931),[12020,12032),[12246,12272),[12352,12353),
        [12439,12441),[12544,12549),[12592,12593),[12687,12688),[12774,12783),[12831,12832),[42125,42128),[42183,42192),
        [42540,42560),[42744,42752),[42958,42960),[42962,42963),[42964,42965),[42973,42994),[43053,43056),[43066,43072),
        [43128,43136),[43206,43214),[43226,43232),[43348,43359),[43389,43392),[43470,43471),[43482,43486),[43519,43520),
        [43575,43584),[43598,43600),[43610,43612),[43715,43739),[43767,43777),[43783,43785),[43791,43793),[43799,43808),
        [43815,43816),[43823,43824),[43884,43888),[44014,44016),[44026,44032),[55204,55216),[55239,55243),[55292,55296),
        [64110,64112),[64218,64256),[64263,64275),[64280,64285),[64311,64312),[64317,64318),[64319,64320),[64322,64323),
        [64325,64326),[64451,64467),[64912,64914),[64968,64975),[64976,65008),[65050,65056),[65107,65108),[65127,65128),
        [65132,65136),[65141,65142),[65277,65281),[65471,65474),[65480,65482),[65488,65490),[65496,65498),[65501,65504),
        [65511,65512),[65519,65532),[65534,65536),[65548,65549),[65575,65576),[65595,65596),[65598,65599),[65614,65616),
        [65630,65664),[65787,65792),[65795,65799),[65844,65847),[65935,65936),[65949,65952),[65953,66000),[66046,66176),
        [66205,66208),[66257,66272),[66300,66304),[66340,66349),[66379,66384),[66427,66432),[66462,66463),[66500,66504),
        [66518,66560),[66718,66720),[66730,66736),[66772,66776),[66812,66816),[66856,66864),[66916,66927),[66939,66940),
        [66955,66956),[66963,66964),[66966,66967),[66978,66979),[66994,66995),[67002,67003),[67005,67008),[67060,67072),
        [67383,67392),[67414,67424),[67432,67456),[67462,67463),[67505,67506),[67515,67584),[67590,67592),[67593,67594),
        [67638,67639),[67641,67644),[67645,67647),[67670,67671),[67743,67751),[67760,67808),[67827,67828),[67830,67835),
        [67868,67871),[67898,67903),[67904,67968),[68024,68028),[68048,68050),[68100,68101),[68103,68108),[68116,68117),
        [68120,68121),[68150,68152),[68155,68159),[68169,68176),[68185,68192),[68256,68288),[68327,68331),[68343,68352),
        [68406,68409),[68438,68440),[68467,68472),[68498,68505),[68509,68521),[68528,68608),[68681,68736),[68787,68800),
        [68851,68858),[68904,68912),[68922,68928),[68966,68969),[68998,69006),[69008,69216),[69247,69248),[69290,69291),
        [69294,69296),[69298,69314),[69317,69372),[69416,69424),[69466,69488),[69514,69552),[69580,69600),[69623,69632),
        [69710,69714),[69750,69759),[69821,69822),[69827,69840),[69865,69872),[69882,69888),[69941,69942),[69960,69968),
        [70007,70016),[70112,70113),[70133,70144),[70162,70163),[70210,70272),[70279,70280),[70281,70282),[70286,70287),
        [70302,70303),[70314,70320),[70379,70384),[70394,70400),[70404,70405),[70413,70415),[70417,70419),[70441,70442),
        [70449,70450),[70452,70453),[70458,70459),[70469,70471),[70473,70475),[70478,70480),[70481,70487),[70488,70493),
        [70500,70502),[70509,70512),[70517,70528),[70538,70539),[70540,70542),[70543,70544),[70582,70583),[70593,70594),
        [70595,70597),[70598,70599),[70603,70604),[70614,70615),[70617,70625),[70627,70656),[70748,70749),[70754,70784),
        [70856,70864),[70874,71040),[71094,71096),[71134,71168),[71237,71248),[71258,71264),[71277,71296),[71354,71360),
        [71370,71376),[71396,71424),[71451,71453),[71468,71472),[71495,71680),[71740,71840),[71923,71935),[71943,71945),
        [71946,71948),[71956,71957),[71959,71960),[71990,71991),[71993,71995),[72007,72016),[72026,72096),[72104,72106),
        [72152,72154),[72165,72192),[72264,72272),[72355,72368),[72441,72448),[72458,72640),[72674,72688),[72698,72704),
        [72713,72714),[72759,72760),[72774,72784),[72813,72816),[72848,72850),[72872,72873),[72887,72960),[72967,72968),
        [72970,72971),[73015,73018),[73019,73020),[73022,73023),[73032,73040),[73050,73056),[73062,73063),[73065,73066),
        [73103,73104),[73106,73107),[73113,73120),[73130,73440),[73465,73472),[73489,73490),[73531,73534),[73563,73648),
        [73649,73664),[73714,73727),[74650,74752),[74863,74864),[74869,74880),[75076,77712),[77811,77824),[78896,78912),
        [78934,78944),[82939,82944),[83527,90368),[90426,92160),[92729,92736),[92767,92768),[92778,92782),[92863,92864),
        [92874,92880),[92910,92912),[92918,92928),[92998,93008),[93018,93019),[93026,93027),[93048,93053),[93072,93504),
        [93562,93760),[93851,93952),[94027,94031),[94088,94095),[94112,94176),[94181,94192),[94194,94208),
        [100344,100352),[101590,101631),[101641,110576),[110580,110581),[110588,110589),[110591,110592),[110883,110898),
        [110899,110928),[110931,110933),[110934,110948),[110952,110960),[111356,113664),[113771,113776),[113789,113792),
        [113801,113808),[113818,113820),[113824,117760),[118010,118016),[118452,118528),[118574,118576),[118599,118608),
        [118724,118784),[119030,119040),[119079,119081),[119155,119163),[119275,119296),[119366,119488),[119508,119520),
        [119540,119552),[119639,119648),[119673,119808),[119893,119894),[119965,119966),[119968,119970),[119971,119973),
        [119975,119977),[119981,119982),[119994,119995),[119996,119997),[120004,120005),[120070,120071),[120075,120077),
        [120085,120086),[120093,120094),[120122,120123),[120127,120128),[120133,120134),[120135,120138),[120145,120146),
        [120486,120488),[120780,120782),[121484,121499),[121504,121505),[121520,122624),[122655,122661),[122667,122880),
        [122887,122888),[122905,122907),[122914,122915),[122917,122918),[122923,122928),[122990,123023),[123024,123136),
        [123181,123184),[123198,123200),[123210,123214),[123216,123536),[123567,123584),[123642,123647),[123648,124112),
        [124154,124368),[124411,124415),[124416,124896),[124903,124904),[124908,124909),[124911,124912),[124927,124928),
        [125125,125127),[125143,125184),[125260,125264),[125274,125278),[125280,126065),[126133,126209),[126270,126464),
        [126468,126469),[126496,126497),[126499,126500),[126501,126503),[126504,126505),[126515,126516),[126520,126521),
        [126522,126523),[126524,126530),[126531,126535),[126536,126537),[126538,126539),[126540,126541),[126544,126545),
        [126547,126548),[126549,126551),[126552,126553),[126554,126555),[126556,126557),[126558,126559),[126560,126561),
        [126563,126564),[126565,126567),[126571,126572),[126579,126580),[126584,126585),[126589,126590),[126591,126592),
        [126602,126603),[126620,126625),[126628,126629),[126634,126635),[126652,126704),[126706,126976),[127020,127024),
        [127124,127136),[127151,127153),[127168,127169),[127184,127185),[127222,127232),[127406,127462),[127491,127504),
        [127548,127552),[127561,127568),[127570,127584),[127590,127744),[128728,128732),[128749,128752),[128765,128768),
        [128887,128891),[128986,128992),[129004,129008),[129009,129024),[129036,129040),[129096,129104),[129114,129120),
        [129160,129168),[129198,129200),[129212,129216),[129218,129280),[129620,129632),[129646,129648),[129661,129664),
        [129674,129679),[129735,129742),[129757,129759),[129770,129776),[129785,129792),[129939,129940),[130042,131072),
        [173792,173824),[177978,177984),[178206,178208),[183970,183984),[191457,191472),[192094,194560),[195102,196608),
        [201547,201552),[205744,917760),[918000,983040),[1048574,1048576),[1114110,1114112)
    }'::int4multirange
$$;

-- What Rust's `trim` takes away: the characters with the property White_Space.
create function longshore.white_space() returns text
    language sql
    immutable
as $$
    select E'\u0009\u000a\u000b\u000c\u000d\u0020\u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000'
$$;

-- A text as a message shows it, with nothing that hides.
create function longshore.shown(value text) returns text
    language sql
    immutable
as $$
    select coalesce(string_agg(
        case
            when c.c = E'\\' then E'\\\\'
            when longshore.is_hidden(ascii(c.c)) or (c.c <> ' ' and strpos(longshore.white_space(), c.c) > 0)
                then E'\\u{' || to_hex(ascii(c.c)) || '}'
            else c.c
        end, '' order by c.n), '')
    from string_to_table(value collate "C", null) with ordinality c (c, n)
$$;

create function longshore.check_name(field text, name text) returns void
    language plpgsql
    immutable
as $$
declare
    given text collate "C" := coalesce(name, '');
    fault text;
    place bigint;
    code int;
begin
    -- Nearly every name is plain, and passes here.
    if octet_length(given) <= 255 and given ~ '^[!-~]([ -~]*[!-~])?$' and given <> '.' and given <> '..' then
        return;
    end if;
    if given = '' then
        fault := 'is empty; a name has 1 to 255 bytes';
    elsif octet_length(given) > 255 then
        fault := format('has %s bytes; a name has 1 to 255', octet_length(given));
    else
        select c.n, ascii(c.c) into place, code
        from string_to_table(given, null) with ordinality c (c, n)
        where longshore.is_hidden(ascii(c.c))
        order by c.n
        limit 1;
        if found then
            fault := format(
                'has the character U+%s at byte %s; control, format and unassigned characters are not allowed',
                lpad(upper(to_hex(code)), greatest(4, length(to_hex(code))), '0'),
                octet_length(left(given, place::int - 1)));
        elsif btrim(given, longshore.white_space()) <> given then
            fault := 'starts or ends with white space';
        elsif given in ('.', '..') then
            fault := 'is `.` or `..`';
        else
            return;
        end if;
    end if;
    raise exception using
        errcode = '22023',
        message = format('%s `%s` %s', field, longshore.shown(left(given, 64)), fault);
end
$$;

-- A span in milliseconds.
create function longshore.check_span(field text, span interval, least_ms bigint) returns bigint
    language plpgsql
    immutable
as $$
declare
    ms numeric := trunc(extract(epoch from span) * 1000);
begin
    if ms < least_ms or ms > 3162240000000 then
        raise exception using
            errcode = '22023',
            message = format('%s is %s; it may be %s to 3162240000000', field, ms, least_ms);
    end if;
    return ms;
end
$$;

-- What the type lets through and the library does not: size, depth, half surrogates. The last two need a
-- look only where there are many brackets, or a `\ud`.
create function longshore.check_json(field text, value json, limit_bytes bigint) returns void
    language plpgsql
    immutable
as $$
declare
    given text collate "C" := value::text;
    size int := octet_length(given);
    -- The same text, byte for byte, with "--" for escapes that are no \u: each backslash left starts one, and
    -- each quote left is the end of a string.
    bare text collate "C";
    nest text collate "C";
    token bigint;
    place int;
    deep_at int;
    half_at int;
begin
    if size > limit_bytes then
        raise exception using
            errcode = '22023',
            message = format('%s has %s bytes; the limit is %s', field, size, limit_bytes);
    end if;
    if strpos(given, E'\\ud') > 0 or strpos(given, E'\\uD') > 0 then
        bare := regexp_replace(given, E'\\\\[^u]', '--', 'g');
        place := regexp_instr(
            regexp_replace(bare, E'\\\\u[dD][89abAB][0-9a-fA-F]{2}\\\\u[dD][c-fC-F][0-9a-fA-F]{2}', '------------', 'g'),
            E'\\\\u[dD][89a-fA-F]');
        if place > 0 then
            half_at := octet_length(left(bare, place - 1));
        end if;
    end if;
    if size > 256 and size * 2 - octet_length(replace(given, '[', '')) - octet_length(replace(given, '{', '')) > 128 then
        bare := coalesce(bare, regexp_replace(given, E'\\\\[^u]', '--', 'g'));
        -- Brackets alone; each round takes the innermost pairs away.
        nest := translate(regexp_replace(bare, '"[^"]*"|[^][{}"]+', '', 'g'), '{}', '[]');
        for round in 1..128 loop
            exit when nest = '';
            nest := replace(nest, '[]', '');
        end loop;
        if nest <> '' then
            select d.n into token
            from (
                select m.n, sum(case when m.found[1] in ('[', '{') then 1 when m.found[1] in (']', '}') then -1 else 0 end)
                    over (order by m.n) as depth
                from regexp_matches(bare, '"[^"]*"|[][{}]', 'g') with ordinality m (found, n)) d
            where d.depth > 128
            order by d.n
            limit 1;
            deep_at := octet_length(left(bare, regexp_instr(bare, '"[^"]*"|[][{}]', 1, token::int) - 1));
        end if;
    end if;
    if half_at is not null and (deep_at is null or half_at < deep_at) then
        raise exception using
            errcode = '22023',
            message = format('%s has an unpaired surrogate at byte %s', field, half_at);
    elsif deep_at is not null then
        raise exception using
            errcode = '22023',
            message = format('%s nests deeper than 128 at byte %s', field, deep_at);
    end if;
end
$$;

-- Takes a key, and answers who holds it now; the twin of unique_take.sql for one job. It is always an
-- update, so that the answer is the holder's committed row, and stays it until we are done.
create function longshore.take_key(
    new_scope text, new_key text, new_job uuid, at timestamptz, out holder uuid, out while_active boolean)
    language plpgsql
as $$
#variable_conflict use_column
begin
    insert into longshore.unique_key as u (scope, key, job_id, until)
    values (new_scope, new_key, new_job, longshore.unique_until(new_key, at))
    on conflict (scope, key) do update set
        job_id = case when u.until <= at then excluded.job_id else u.job_id end,
        fingerprint = case when u.until <= at then excluded.fingerprint else u.fingerprint end,
        until = case when u.until <= at then excluded.until else u.until end
    returning u.job_id, u.until is null into holder, while_active;
end
$$;

-- Tells nodes that there may be work; the twin of notify_in.sql, which says why it is so seldom.
create function longshore.tell(word text) returns void
    language plpgsql
as $$
begin
    if current_setting('longshore.told', true) is distinct from 'yes'
        and set_config('longshore.told', 'yes', true) = 'yes'
        and pg_try_advisory_xact_lock(
            hashtext('longshore.notify'),
            (floor(extract(epoch from clock_timestamp()) * 20)::bigint % 2147483647)::int)
    then
        perform pg_notify('longshore', word);
    end if;
end
$$;

create function longshore.enqueue(
    kind text,
    payload json,
    queue text default 'default',
    priority int default 5,
    run_at timestamptz default null,
    unique_key text default null,
    max_attempts int default 10,
    tags text[] default '{}',
    meta json default null,
    unique_within interval default null,
    unique_for_good boolean default false,
    on_conflict text default 'keep',
    timeout interval default '1 hour',
    retain interval default null,
    id uuid default null)
    returns uuid
    language plpgsql
    security invoker
    set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    job_kind text collate "C" := enqueue.kind;
    job_queue text collate "C" := coalesce(enqueue.queue, 'default');
    job_priority int := coalesce(enqueue.priority, 5);
    job_attempts int := coalesce(enqueue.max_attempts, 10);
    job_payload json := coalesce(enqueue.payload, 'null');
    rule text collate "C" := coalesce(enqueue.on_conflict, 'keep');
    for_good boolean := coalesce(enqueue.unique_for_good, false);
    job_tags text[];
    tag text;
    timeout_ms bigint;
    retain_ms bigint;
    within_ms bigint;
    aside boolean;
    -- Not the statement's time: a loop in one statement enqueues in its order, and a long one is not late.
    at timestamptz := clock_timestamp();
    at_us bigint := extract(epoch from at) * 1000000;
    due timestamptz := coalesce(enqueue.run_at, at);
    new_id uuid := enqueue.id;
    key_scope text collate "C";
    stored text collate "C";
    held record;
    alive boolean;
    locked uuid;
    overtaken boolean;
begin
    perform longshore.check_name('kind', job_kind);
    perform longshore.check_name('queue', job_queue);
    if job_priority not between 0 and 9 then
        raise exception using
            errcode = '22023', message = format('priority is %s; it may be 0 to 9', job_priority);
    end if;
    if job_attempts not between 1 and 1000000000 then
        raise exception using
            errcode = '22023', message = format('max_attempts is %s; it may be 1 to 1000000000', job_attempts);
    end if;
    if due < timestamptz '0001-01-01 00:00:00+00 BC' or due >= timestamptz '10000-01-01 00:00:00+00' then
        raise exception using
            errcode = '22023',
            message = 'run_at is outside 0000-01-01T00:00:00Z to 9999-12-31T23:59:59.999999Z';
    end if;
    timeout_ms := longshore.check_span('timeout', enqueue.timeout, 1);
    retain_ms := longshore.check_span('retain', enqueue.retain, 0);
    if cardinality(enqueue.tags) > 64 then
        raise exception using
            errcode = '22023',
            message = format('tags has %s entries; the limit is 64', cardinality(enqueue.tags));
    elsif cardinality(enqueue.tags) > 0 then
        foreach tag in array enqueue.tags loop
            perform longshore.check_name('tags', tag);
            job_tags := job_tags || tag;
        end loop;
    end if;
    if enqueue.unique_key is not null then
        perform longshore.check_name('unique_key', enqueue.unique_key);
        within_ms := longshore.check_span('unique_within', enqueue.unique_within, 1);
        if within_ms is not null and for_good then
            raise exception using
                errcode = '22023', message = 'unique_within and unique_for_good are both given; a key is held in one way';
        end if;
    elsif enqueue.unique_within is not null or for_good or rule <> 'keep' then
        raise exception using
            errcode = '22023',
            message = 'unique_within, unique_for_good and on_conflict say how a unique_key is held, but none is given';
    end if;
    if rule not in ('keep', 'replace', 'refuse') then
        raise exception using
            errcode = '22023',
            message = format('on_conflict is `%s`; it may be keep, replace or refuse', longshore.shown(left(rule, 64)));
    end if;
    perform longshore.check_json('payload', job_payload,
        coalesce(nullif(current_setting('longshore.payload_bytes', true), ''), '1048576')::bigint);
    if enqueue.meta is not null then
        perform longshore.check_json('meta', enqueue.meta, 65536);
        if json_typeof(enqueue.meta) <> 'object' then
            raise exception using errcode = '22023', message = 'meta is not a JSON object';
        end if;
    end if;
    aside := octet_length(job_payload::text) > 2000;

    if new_id is null then
        -- A UUID of version 7: milliseconds, then 12 bits of what is left of them, then chance.
        new_id := lpad(to_hex(at_us / 1000), 12, '0') || '7' || lpad(to_hex((at_us % 1000) * 4096 / 1000), 3, '0')
            || right(translate(gen_random_uuid()::text, '-', ''), 16);
    elsif exists (select from longshore.job j where j.id = new_id)
        or exists (select from longshore.history h where h.id = new_id)
    then
        -- A repeat keeps the answer it had, whoever holds its key now.
        return new_id;
    end if;

    if enqueue.unique_key is not null then
        key_scope := 'kind:' || job_kind;
        stored := longshore.unique_text(enqueue.unique_key, within_ms, for_good, due);
        for round in 1..50 loop
            overtaken := false;
            if rule <> 'replace' then
                held := longshore.take_key(key_scope, stored, new_id, at);
                alive := exists (select from longshore.job j where j.id = held.holder and j.dead_at is null);
                exit;
            end if;
            -- The holder's row is locked before the key: that order holds everywhere.
            locked := null;
            select j.id into locked
            from longshore.job j
            where j.dead_at is null and j.id = (
                select u.job_id from longshore.unique_key u where u.scope = key_scope and u.key = stored)
            for update;
            begin
                held := longshore.take_key(key_scope, stored, new_id, at);
                alive := exists (select from longshore.job j where j.id = held.holder and j.dead_at is null);
                if alive and held.holder is distinct from locked then
                    raise exception using errcode = 'LS001';
                end if;
            exception when sqlstate 'LS001' then
                -- Another job got the key after we locked. The key is let go again; once more from the start.
                overtaken := true;
            end;
            exit when not overtaken;
        end loop;
        if overtaken then
            raise exception using
                errcode = '55P03',
                message = 'could not enqueue: a unique key is held by a transaction that is still open';
        end if;
        if held.holder <> new_id then
            if alive or not held.while_active then
                if rule = 'refuse' then
                    raise exception using
                        errcode = '23505',
                        message = format('unique key `%s` is held by job %s',
                            longshore.shown(enqueue.unique_key), held.holder);
                elsif rule = 'keep' or not alive then
                    return held.holder;
                end if;
                update longshore.job j
                set run_at = due, priority = job_priority, version = j.version + 1,
                    payload = case when not aside then job_payload end
                where j.id = held.holder and j.node is null and j.dead_at is null
                  and (j.blocked_on = 0 or enqueue.run_at is not null);
                if found then
                    if aside then
                        insert into longshore.payload (id, payload) values (held.holder, job_payload)
                        on conflict (id) do update set payload = excluded.payload;
                    else
                        delete from longshore.payload p where p.id = held.holder;
                    end if;
                    perform longshore.tell('start');
                    return held.holder;
                end if;
            end if;
            -- The holder is gone without having given the key back, or runs and is to be replaced.
            update longshore.unique_key u
            set job_id = new_id, fingerprint = null
            where u.scope = key_scope and u.key = stored and u.job_id = held.holder;
            update longshore.job j set superseded_by = new_id where j.id = held.holder;
        end if;
    end if;

    insert into longshore.job (id, kind, queue, priority, run_at, created_at, max_attempts, timeout_ms, retain_ms,
        tags, meta, payload, unique_key)
    values (new_id, job_kind, job_queue, job_priority, due, at, job_attempts, timeout_ms, retain_ms,
        job_tags, enqueue.meta, case when not aside then job_payload end, stored)
    on conflict (id) do nothing;
    if not found then
        return new_id;
    end if;
    if enqueue.id is not null and exists (select from longshore.history h where h.id = new_id) then
        -- The insert waited for its first life, which has ended meanwhile. forget.sql says the same.
        delete from longshore.job j where j.id = new_id;
        delete from longshore.unique_key u
        where u.scope = 'kind:' || job_kind and u.key = stored and u.job_id = new_id and u.until is null;
        return new_id;
    end if;
    if aside then
        insert into longshore.payload (id, payload) values (new_id, job_payload) on conflict (id) do nothing;
    end if;
    if due <= at then
        -- Below where other nodes' low-water marks may stand, they look from the start.
        perform longshore.tell(case when due < at - interval '1 second' then 'start' else 'look' end);
    end if;
    return new_id;
end
$$;

comment on function longshore.enqueue is
    'Enqueues a job in this transaction and answers its id, or that of the job that holds its unique_key.';

-- All jobs, wherever they are. The state is the one of get.sql.
create view longshore.jobs as
select j.id, j.kind, j.queue,
    case
        when j.dead_at is not null then 'dead'
        when j.node is not null then 'running'
        when j.blocked_on > 0 then 'blocked'
        when j.run_at > now() then case when j.attempt > 0 then 'retrying' else 'scheduled' end
        else 'queued'
    end as state,
    j.priority, j.attempt, j.max_attempts, j.run_at, j.created_at, j.leased_at, j.dead_at as finished_at,
    coalesce(j.payload, (select p.payload from longshore.payload p where p.id = j.id)) as payload,
    null::json as output, coalesce(array_to_json(j.errors), '[]') as errors, coalesce(j.tags, '{}') as tags,
    j.meta, split_part(j.unique_key, chr(31), 1) as unique_key, j.node, j.cancel_at, j.cancel_by, j.cancel_why
from longshore.job j
union all
select h.id, h.kind, h.queue, h.state, h.priority, h.attempt, h.max_attempts, h.run_at, h.created_at, h.leased_at,
    h.finished_at, coalesce(h.payload, (select p.payload from longshore.payload p where p.id = h.id)),
    h.output, coalesce(array_to_json(h.errors), '[]'), coalesce(h.tags, '{}'),
    h.meta, split_part(h.unique_key, chr(31), 1), h.node, h.cancel_at, h.cancel_by, h.cancel_why
from longshore.history h;
