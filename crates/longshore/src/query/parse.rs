//! From text to a filter.

use std::ops::Range as Bytes;

use uuid::Uuid;

use super::error::nearest;
use super::{
    Field, Filter, MAX_QUERY_BYTES, MAX_STARS, MAX_TERMS, MAX_VALUES, Moment, Pattern, QueryError,
    QueryFault, Range, Term, Test,
};
use crate::job::{JobId, State};

type Result<T, E = Wrong> = std::result::Result<T, E>;

/// A fault and its place.
struct Wrong(QueryFault, Bytes<usize>);

/// One value of a term: a run of characters, each with where it stands and whether quotes took its
/// meaning away.
#[derive(Default)]
struct Value {
    chars: Vec<(char, bool)>,
    at: Bytes<usize>,
}

pub(super) fn filter(text: &str) -> std::result::Result<Filter, QueryError> {
    let mut reader = Reader { text, at: 0, values: 0, field: None };
    reader.filter().map_err(|Wrong(fault, at)| {
        let query = text[..text.floor_char_boundary(MAX_QUERY_BYTES + 1)].to_owned();
        QueryError { fault, field: reader.field, at, query }
    })
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    values: usize,
    field: Option<Field>,
}

impl<'a> Reader<'a> {
    fn filter(&mut self) -> Result<Filter> {
        if self.text.len() > MAX_QUERY_BYTES {
            return Err(Wrong(QueryFault::TooLong, MAX_QUERY_BYTES..MAX_QUERY_BYTES + 1));
        }
        let (mut filter, mut terms) = (Filter::all(), 0);
        loop {
            self.skip_blanks();
            if self.at == self.text.len() {
                return Ok(filter);
            }
            let start = self.at;
            let term = self.term()?;
            terms += 1;
            if terms > MAX_TERMS {
                return Err(Wrong(QueryFault::TooManyTerms, start..self.at));
            }
            filter = filter.with(term);
        }
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn skip_blanks(&mut self) {
        while let Some(c) = self.peek().filter(|c| c.is_whitespace()) {
            self.at += c.len_utf8();
        }
    }

    fn term(&mut self) -> Result<Term> {
        self.field = None;
        let negated = self.peek() == Some('-');
        self.at += usize::from(negated);
        let field = self.field()?;
        self.field = Some(field);
        let mut values = Vec::new();
        loop {
            let value = self.value()?;
            self.values += 1;
            if self.values > MAX_VALUES {
                return Err(Wrong(QueryFault::TooManyValues, value.at));
            }
            values.push(value);
            if self.peek() != Some(',') {
                break;
            }
            self.at += 1;
        }
        let test = match field {
            Field::State => Test::State(each(&values, state)?),
            Field::Kind => Test::Kind(each(&values, pattern)?),
            Field::Queue => Test::Queue(each(&values, pattern)?),
            Field::Tag => Test::Tag(each(&values, pattern)?),
            Field::Node => Test::Node(each(&values, uuid)?),
            Field::Id => Test::Id(each(&values, |value| uuid(value).map(JobId::from_uuid))?),
            Field::Key => Test::Key(each(&values, pattern)?),
            Field::Priority => Test::Priority(each(&values, number)?),
            Field::Attempt => Test::Attempt(each(&values, number)?),
            Field::Created => Test::Created(each(&values, time)?),
            Field::Due => Test::Due(each(&values, time)?),
            Field::Finished => Test::Finished(each(&values, time)?),
        };
        Ok(Term { negated, test })
    }

    /// The word before the colon, and the colon.
    fn field(&mut self) -> Result<Field> {
        let start = self.at;
        let rest = &self.text[start..];
        let end = rest.find(|c: char| c.is_whitespace() || c == ':').unwrap_or(rest.len());
        let word = &rest[..end];
        let at = start..start + end;
        if let Some(c) = word.chars().find(|c| c.is_control()) {
            return Err(Wrong(QueryFault::Character(c), at));
        }
        if !rest[end..].starts_with(':') {
            let hint = match word {
                _ if Uuid::try_parse(word).is_ok() => format!("id:{word}"),
                _ if word.parse::<State>().is_ok() => format!("state:{word}"),
                _ if word.is_empty() || word.len() > 64 => "kind:email.*".to_owned(),
                _ => format!("kind:{}", Pattern::glob(word)),
            };
            return Err(Wrong(QueryFault::NoField { hint }, at));
        }
        self.at = start + end + 1;
        Field::ALL.into_iter().find(|field| field.as_str() == word).ok_or_else(|| {
            let meant = nearest(word, &Field::ALL.map(Field::as_str));
            Wrong(QueryFault::UnknownField { given: cut(word), meant }, at)
        })
    }

    fn value(&mut self) -> Result<Value> {
        let (start, mut chars, mut quoted) = (self.at, Vec::new(), false);
        while let Some(c) = self.peek().filter(|c| !c.is_whitespace() && *c != ',') {
            self.check(c)?;
            if c == '"' {
                quoted = true;
                self.quoted(&mut chars)?;
            } else {
                self.at += c.len_utf8();
                chars.push((c, false));
            }
        }
        if chars.is_empty() && !quoted {
            // The field and the colon are what the eye should fall on.
            let from = self.text[..start].rfind(char::is_whitespace).map_or(0, |at| at + 1);
            let from = self.text.floor_char_boundary(from).min(start);
            return Err(Wrong(QueryFault::NoValue, from..start.max(from + 1)));
        }
        Ok(Value { chars, at: start..self.at })
    }

    fn quoted(&mut self, chars: &mut Vec<(char, bool)>) -> Result<()> {
        let open = self.at;
        self.at += 1;
        loop {
            let Some(c) = self.peek() else {
                return Err(Wrong(QueryFault::OpenQuote, open..self.text.len()));
            };
            self.check(c)?;
            self.at += c.len_utf8();
            match c {
                '"' => return Ok(()),
                '\\' => match self.peek().filter(|next| matches!(next, '"' | '\\')) {
                    Some(next) => {
                        self.at += 1;
                        chars.push((next, true));
                    }
                    None => chars.push((c, true)),
                },
                c => chars.push((c, true)),
            }
        }
    }

    fn check(&self, c: char) -> Result<()> {
        if c.is_control() {
            return Err(Wrong(QueryFault::Character(c), self.at..self.at + c.len_utf8()));
        }
        Ok(())
    }
}

fn each<T>(values: &[Value], read: impl Fn(&Value) -> Result<T>) -> Result<Vec<T>> {
    values.iter().map(read).collect()
}

/// So much of a text as an error may repeat.
fn cut(text: &str) -> String {
    text.chars().take(64).collect()
}

impl Value {
    fn text(&self) -> String {
        self.chars.iter().map(|(c, _)| *c).collect()
    }

    fn wrong(&self, fault: impl Fn(String) -> QueryFault) -> Wrong {
        Wrong(fault(cut(&self.text())), self.at.clone())
    }
}

fn state(value: &Value) -> Result<State> {
    let text = value.text();
    text.parse().map_err(|_| {
        let meant = nearest(&text, &State::ALL.map(State::as_str));
        value.wrong(|given| QueryFault::UnknownState { given, meant })
    })
}

fn pattern(value: &Value) -> Result<Pattern> {
    let mut pattern = Pattern::empty();
    for (c, quoted) in &value.chars {
        match c {
            '*' if !quoted => pattern.push_any(),
            c => pattern.push_text(c.encode_utf8(&mut [0; 4])),
        }
    }
    if pattern.stars() > MAX_STARS {
        return Err(Wrong(QueryFault::TooManyStars, value.at.clone()));
    }
    Ok(pattern)
}

fn uuid(value: &Value) -> Result<Uuid> {
    Uuid::try_parse(&value.text()).map_err(|_| value.wrong(QueryFault::NotAnId))
}

fn number(value: &Value) -> Result<Range<u32>> {
    let range = range(&value.text(), |text| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse().ok()).flatten()
    });
    let range = range.ok_or_else(|| value.wrong(QueryFault::NotANumber))?;
    if matches!(range, Range::Between(from, to) if from > to) {
        return Err(Wrong(QueryFault::Backwards, value.at.clone()));
    }
    Ok(range)
}

fn time(value: &Value) -> Result<Range<Moment>> {
    let range = range(&value.text(), Moment::read);
    let range = range.ok_or_else(|| value.wrong(QueryFault::NotATime))?;
    match range {
        Range::Is(Moment::Away(_)) => Err(value.wrong(QueryFault::TimeAlone)),
        Range::Between(
            from @ (Moment::At(_) | Moment::Day(_)),
            to @ (Moment::At(_) | Moment::Day(_)),
        ) if from.ends(crate::time::Timestamp::MIN).0 > to.ends(crate::time::Timestamp::MIN).1 => {
            Err(Wrong(QueryFault::Backwards, value.at.clone()))
        }
        Range::Between(Moment::Away(from), Moment::Away(to)) if from > to => {
            Err(Wrong(QueryFault::Backwards, value.at.clone()))
        }
        range => Ok(range),
    }
}

type Compared<T> = fn(T) -> Range<T>;

fn range<T>(text: &str, read: impl Fn(&str) -> Option<T>) -> Option<Range<T>> {
    // The longer sign first.
    let signs: [(&str, Compared<T>); 4] =
        [(">=", Range::From), ("<=", Range::UpTo), (">", Range::Above), ("<", Range::Below)];
    for (sign, range) in signs {
        if let Some(rest) = text.strip_prefix(sign) {
            return read(rest).map(range);
        }
    }
    match text.split_once("..") {
        Some(("", "")) => None,
        Some((from, "")) => read(from).map(Range::From),
        Some(("", to)) => read(to).map(Range::UpTo),
        Some((from, to)) => Some(Range::Between(read(from)?, read(to)?)),
        None => read(text).map(Range::Is),
    }
}
