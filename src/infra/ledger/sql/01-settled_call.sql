-- A call that ended, as settle_calls takes it: `place` is that of what it shares with others, from 0. Without a status it
-- was never sent, and is released.
create type settled_call as (
  place int, id bpchar, started_at timestamptz, status text, input_tokens bigint, output_tokens bigint,
  total_tokens bigint, requests bigint, cache_read_tokens bigint, reasoning_tokens bigint, cache_write_5m_tokens bigint,
  cache_write_1h_tokens bigint, images bigint, audio_seconds double precision, cost bigint, cost_source text,
  finish_reason text, first_token_ms int, duration_ms int, streamed boolean,
  characters bigint, video_seconds double precision, request_bytes int
);
