-- Holds the number; the step of this number comes from elsewhere.
select 1;
