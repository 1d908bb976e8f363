-- Has any migration been applied?
select to_regclass('longshore.migration') is not null
