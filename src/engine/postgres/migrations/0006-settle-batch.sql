-- Settled calls as a process sends them: what many have in common once, each with its place among them in `of`.
create function settle_batch(shared jsonb, calls bytea) returns void language sql as $$
  select settle_calls((select jsonb_agg((shared -> (call ->> 'of')::int) || (call - 'of') order by place)
    from jsonb_array_elements(convert_from(calls, 'UTF8')::jsonb) with ordinality each_call(call, place)))
$$;
