-- Money in nano-dollars (10^-9 USD): an append-only ledger, balances, holds, and a record per call.
-- The functions that write here are in src/infra/ledger/sql.

create table balances (
  account_id ulid primary key,
  -- The amount available to reserve; reservations are already deducted.
  nano bigint not null default 0
) with (fillfactor = 50);

-- Spend and holds of a subject (key, goal, chat, workspace, member) per period.
create table spends (
  subject ulid not null,
  period text collate "C" not null,
  nano bigint not null default 0,
  held bigint not null default 0,
  primary key (subject, period)
) with (fillfactor = 50);

create table reservations (
  call_id ulid primary key,
  process_id ulid not null,
  account_id ulid not null,
  nano bigint not null,
  -- Whether the balance was charged: not for the unlimited tier or the caller's own provider key.
  drawn boolean not null,
  subjects text[] not null,
  periods text[] not null,
  -- The settlement after a crash, once sent: the input's upper bound plus the received output.
  estimate bigint not null default 0,
  sent_at timestamptz,
  -- What settle_calls needs besides the outcome.
  call jsonb not null,
  -- When the call started. Null in the oldest rows, which have it in `call`.
  started_at timestamptz,
  at timestamptz not null default clock_timestamp(),
  -- A job at a vendor: another process can read its result.
  outlives_process boolean not null default false
  -- Rows live only as long as a call. Aggressive vacuuming reuses their space before the table grows to a gigabyte.
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);

create table ledger (
  seq bigint generated always as identity primary key,
  at timestamptz(3) not null default clock_timestamp(),
  account_id ulid not null,
  kind text not null check (kind in ('grant', 'reserve', 'settle', 'release', 'refund', 'overrun')),
  -- The entry's amount, and its effect on the balance: an account's changes add up to its balance.
  nano bigint not null,
  change bigint not null,
  call_id ulid,
  note text,
  by_account ulid
);
-- For auditing: entries arrive nearly in the order of their calls, so page ranges are enough to find them.
create index ledger_call on ledger using brin (call_id) with (autosummarize = on);

create function ledger_is_append_only() returns trigger language plpgsql as $$
begin
  raise exception 'the ledger is append-only';
end $$;
create trigger ledger_append_only before update or delete or truncate on ledger
  for each statement execute function ledger_is_append_only();

-- One row per metered model call. Token buckets don't overlap.
create table calls (
  id ulid primary key,
  account_id ulid not null,
  workspace_id ulid not null,
  key_id ulid,
  chat_id ulid,
  run_id ulid,
  message_id ulid,
  surface text not null,
  model text not null,
  provider text not null,
  endpoint_id ulid,
  billing text not null,
  status text not null,
  day date not null,
  input_tokens bigint not null,
  cache_read_tokens bigint not null,
  cache_write_5m_tokens bigint not null,
  cache_write_1h_tokens bigint not null,
  output_tokens bigint not null,
  reasoning_tokens bigint not null,
  images bigint not null,
  audio_seconds double precision not null,
  requests bigint not null,
  total_tokens bigint not null,
  -- The cost to the caller. Null: the model has no price.
  cost_nano bigint,
  -- The part charged to the balance.
  charged_nano bigint not null,
  -- The provider's cost above the reservation, paid by the instance.
  overrun_nano bigint not null,
  -- The refunded part of the charge.
  refunded_nano bigint not null default 0,
  cost_source text,
  finish_reason text,
  first_token_ms int,
  duration_ms int not null,
  streamed boolean not null,
  created_at timestamptz(3) not null,
  characters bigint not null default 0,
  video_seconds double precision not null default 0,
  -- For the request log, if the first provider answered without losses. Other requests have a row in request_log.
  path text,
  asked_model text,
  request_bytes int,
  -- Why this provider was chosen. Null: the call belongs to no request.
  why text
);
-- Lists read this backward: appending to the end of an index doesn't split half-full pages. IDs sort by time, so they
-- also select a day.
create index calls_account on calls (account_id, id);
create index calls_workspace on calls (workspace_id, id);
create index calls_key on calls (key_id, id) where key_id is not null;
create index calls_chat on calls (chat_id, id) where chat_id is not null;
create index calls_run on calls (run_id) where run_id is not null;
create index calls_message on calls (message_id) where message_id is not null;

-- Recent speech calls of a model, to estimate its speed.
create index calls_spoken on calls (endpoint_id, model, id) where characters > 0;

-- Daily totals (UTC), maintained by settle_calls.
create table usage_days (
  account_id ulid not null,
  day date not null,
  workspace_id ulid not null,
  key_id ulid,
  surface text not null,
  model text not null,
  provider text not null,
  billing text not null,
  calls bigint not null,
  failed bigint not null,
  cancelled bigint not null,
  -- Calls of unpriced models, not included in cost_nano.
  unpriced bigint not null,
  input_tokens bigint not null,
  cache_read_tokens bigint not null,
  cache_write_5m_tokens bigint not null,
  cache_write_1h_tokens bigint not null,
  output_tokens bigint not null,
  reasoning_tokens bigint not null,
  images bigint not null,
  audio_seconds double precision not null,
  requests bigint not null,
  total_tokens bigint not null,
  cost_nano bigint not null,
  charged_nano bigint not null,
  refunded_nano bigint not null default 0,
  overrun_nano bigint not null,
  -- Summed over calls with a first token, and the number of those calls.
  first_token_ms bigint not null,
  first_token_calls bigint not null,
  duration_ms bigint not null,
  characters bigint not null default 0,
  video_seconds double precision not null default 0
) with (fillfactor = 50);
create unique index usage_days_one on usage_days (account_id, day, workspace_id, key_id, surface, model, provider, billing)
  nulls not distinct;
create index usage_days_workspace on usage_days (workspace_id, day);

-- Requests for credits to the administrator.
create table credit_requests (
  id ulid primary key,
  account_id ulid not null references accounts on delete cascade,
  -- Null: the administrator chooses.
  amount_nano bigint check (amount_nano > 0),
  note text not null default '',
  status text not null default 'pending' check (status in ('pending', 'granted', 'refused')),
  granted_nano bigint,
  answer text,
  answered_by ulid references accounts on delete set null,
  answered_at timestamptz(3),
  created_at timestamptz(3) not null default clock_timestamp(),
  updated_at timestamptz(3) not null default clock_timestamp()
);
-- One open request per account.
create unique index credit_requests_open on credit_requests (account_id) where status = 'pending';
create index credit_requests_account on credit_requests (account_id, id desc);

-- The request log: routing, attempts and results, never content. `id` is the `x-request-id` and the ID of the first
-- attempt's call in `calls`, which has usage and cost.
create table request_log (
  id ulid primary key,
  account_id ulid not null,
  workspace_id ulid not null,
  key_id ulid,
  chat_id ulid,
  run_id ulid,
  surface text not null,
  -- Null: the server made the request itself, for example in a run.
  path text,
  asked_model text,
  request_bytes int,
  streamed boolean not null,
  -- The provider that answered or was tried last. Null: none was tried.
  model text,
  provider text,
  status text not null check (status in ('succeeded', 'failed', 'cancelled')),
  http_status int,
  error_code text,
  error_message text,
  losses text[] not null,
  -- In order: {call_id, provider, model, why, outcome, status, message, duration_ms}.
  tried jsonb not null,
  duration_ms int not null,
  created_at timestamptz(3) not null
);
create index request_log_account on request_log (account_id, id);
create index request_log_workspace on request_log (workspace_id, id);
