-- Settles calls as a process sends them, a line each, its fields in the order of settled_call with tabs between them, an
-- empty one null. A released call has two; the last three are left out where they are nothing.
create function settle_batch(shared jsonb, lines text) returns void language plpgsql
set search_path from current as $$
begin
  perform settle_calls(shared, array(
    with line as materialized (select string_to_array(l, E'\t', '') as f from string_to_table(lines, E'\n') l)
    select row(f[1]::int, f[2], to_timestamp(f[3]::float8 / 1000), f[4], f[5]::bigint, f[6]::bigint, f[7]::bigint,
      f[8]::bigint, f[9]::bigint, f[10]::bigint, f[11]::bigint, f[12]::bigint, f[13]::bigint, f[14]::float8,
      f[15]::bigint, f[16], f[17], f[18]::int, f[19]::int, f[20]::boolean, f[21]::bigint, f[22]::float8, f[23]::int)::settled_call
    from line order by f[2] collate "C"));
end $$;
