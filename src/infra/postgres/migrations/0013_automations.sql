-- Automations, started by a schedule or a webhook.
create table automations (
  id ulid primary key references resources on delete cascade,
  name text not null,
  kind text not null check (kind in ('cron', 'webhook')),
  schedule text,
  time_zone text,
  action jsonb not null,
  overlap text not null,
  catch_up text not null,
  catch_up_window_seconds int not null,
  -- The spend limit of a run.
  max_cost_nano bigint,
  timeout_seconds int not null,
  -- Runs have this account's permissions, limited to those of the credential that created the automation.
  account_id ulid not null references accounts on delete cascade,
  scopes text[],
  held_to ulid,
  key_id ulid,
  -- The next scheduled time. It only moves forward.
  next_fire_at timestamptz(3),
  last_fired_at timestamptz(3),
  -- Consecutive failures. Too many archive the automation with this reason.
  failures int not null default 0,
  paused_reason text,
  paused_at timestamptz(3),
  token_hash bytea,
  sealed_secret text,
  check ((kind = 'cron') = (schedule is not null and time_zone is not null)),
  check ((kind = 'webhook') = (token_hash is not null and sealed_secret is not null))
);
create index automations_due on automations (next_fire_at) where next_fire_at is not null;
create index automations_account on automations (account_id);

-- Automations that use an agent, checked on each change of the agent.
create index automations_agent on automations ((action ->> 'agent_id'));
create index automations_chat on automations ((action ->> 'chat_id')) where action ->> 'chat_id' is not null;

-- Rotated webhook secrets that are still accepted.
create table automation_secrets (
  id ulid primary key,
  automation_id ulid not null references automations on delete cascade,
  token_hash bytea not null,
  sealed_secret text not null,
  expires_at timestamptz(3) not null
);
create index automation_secrets_of on automation_secrets (automation_id, id desc);

create table automation_runs (
  id ulid primary key,
  automation_id ulid not null references automations on delete cascade,
  workspace_id ulid not null,
  status text not null check (status in ('queued', 'running', 'succeeded', 'failed', 'cancelled', 'timed_out', 'skipped')),
  skip_reason text check (skip_reason in ('overlap', 'missed', 'archived', 'budget', 'rate_limited', 'paused')),
  attempt int not null default 1,
  trigger text not null check (trigger in ('cron', 'webhook', 'test', 'retry')),
  scheduled_for timestamptz(3),
  webhook_id text,
  payload text,
  chat_id ulid,
  run_id ulid,
  error json,
  cost_nano bigint,
  created_at timestamptz(3) not null default clock_timestamp(),
  updated_at timestamptz(3) not null default clock_timestamp(),
  started_at timestamptz(3),
  completed_at timestamptz(3),
  -- The operation that runs its command on a computer.
  operation_id ulid,
  check ((status = 'skipped') = (skip_reason is not null))
);

-- One row per tick and per webhook, however often it's attempted.
create unique index automation_runs_tick on automation_runs (automation_id, scheduled_for) where scheduled_for is not null;
create unique index automation_runs_webhook on automation_runs (automation_id, webhook_id) where webhook_id is not null;
create index automation_runs_list on automation_runs (automation_id, id desc);
create index automation_runs_workspace on automation_runs (workspace_id, id desc);

-- Queued runs per workspace, so each workspace gets its share of the starts.
create index automation_runs_waiting on automation_runs (workspace_id, id) where status = 'queued';
create index automation_runs_busy on automation_runs (automation_id, id) where status in ('queued', 'running');
create index automation_runs_running on automation_runs (started_at) where status = 'running';
create index automation_runs_operation on automation_runs (operation_id) where operation_id is not null;
create index automation_runs_run on automation_runs (run_id) where run_id is not null;

-- Token bucket: scheduled starts per account and minute.
create table automation_starts (
  account_id ulid primary key references accounts on delete cascade,
  tokens double precision not null,
  at timestamptz(3) not null
);
