-- Settled calls as a process sends them: what many have in common once as an object, each call as an array that begins
-- with the place of its object. A released call has nothing but its id.
create function settle_batch(shared jsonb, calls bytea) returns void language sql as $$
  select settle_calls((select jsonb_agg((shared -> (c ->> 0)::int) || case when jsonb_array_length(c) = 2
      then jsonb_build_object('id', c -> 1)
      else jsonb_build_object('id', c -> 1, 'started_at', to_timestamp((c ->> 2)::float8 / 1000), 'status', c -> 3,
        'input_tokens', c -> 4, 'output_tokens', c -> 5, 'total_tokens', c -> 6, 'requests', c -> 7,
        'cache_read_tokens', c -> 8, 'reasoning_tokens', c -> 9, 'cache_write_5m_tokens', c -> 10,
        'cache_write_1h_tokens', c -> 11, 'images', c -> 12, 'audio_seconds', c -> 13, 'cost', c -> 14,
        'cost_source', c -> 15, 'finish_reason', c -> 16, 'first_token_ms', c -> 17, 'duration_ms', c -> 18,
        'streamed', c -> 19) end order by place)
    from jsonb_array_elements(convert_from(calls, 'UTF8')::jsonb) with ordinality each_call(c, place)))
$$;
