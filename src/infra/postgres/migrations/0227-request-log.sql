-- What became of a request to a model: what was asked, who was tried, and how it ended. Never what was said in it. Its id
-- is the `x-request-id`, and of whoever was tried first the call's in `calls`, which has usage and cost.
create table request_log (
  id ulid primary key,
  account_id ulid not null,
  workspace_id ulid not null,
  key_id ulid,
  chat_id ulid,
  run_id ulid,
  surface text not null,
  -- Null: it was asked for by this server, as a run does.
  path text,
  asked_model text,
  request_bytes int,
  streamed boolean not null,
  -- Who answered, or was asked last; null: nobody was asked.
  model text,
  provider text,
  status text not null check (status in ('succeeded', 'failed', 'cancelled')),
  http_status int,
  error_code text,
  error_message text,
  losses text[] not null,
  -- In their order: {call_id, provider, model, why, outcome, status, message, duration_ms}.
  tried jsonb not null,
  duration_ms int not null,
  created_at timestamptz(3) not null
);
create index request_log_account on request_log (account_id, id);
create index request_log_workspace on request_log (workspace_id, id);
