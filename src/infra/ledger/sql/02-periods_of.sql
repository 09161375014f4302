-- The periods that a UTC day lies in, by the keys that `periodKey` in kernel/time.ts gives them.
create function periods_of(day date) returns text[] language sql immutable as $$
  select array[to_char(day, 'YYYY-MM-DD'), to_char(day, 'IYYY"-W"IW'), to_char(day, 'YYYY-MM'), 'total']
$$;
