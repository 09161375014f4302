-- Chats: a tree of messages, the runs that write answers, their event logs, and goals.

create table chats (
  id ulid primary key references resources on delete cascade,
  title text not null,
  -- `default` until the first message (`auto`) or a user (`user`) sets the title.
  title_source text not null default 'default' check (title_source in ('default', 'auto', 'user')),
  agent_id ulid,
  model text,
  -- The end of the active branch. Null: no messages.
  head_message_id ulid,
  forked_from_chat_id ulid,
  forked_from_message_id ulid,
  -- For a delegated task: the chat of the delegating run.
  parent_chat_id ulid,
  -- The budget.
  max_cost_nano bigint,
  -- The number of the newest message. Numbers follow creation order across branches.
  last_seq int not null default 0,
  last_message_at timestamptz(3),
  -- Visible only to its creator, and deleted a day after its last message.
  temporary boolean not null default false
);
create index chats_agent on chats (agent_id) where agent_id is not null;
create index chats_temporary on chats (id) where temporary;
create index chats_parent on chats (parent_chat_id) where parent_chat_id is not null;

-- Deleting a chat deletes the chats of its delegated tasks.
create function chats_are_gone() returns trigger language plpgsql as $$
begin
  delete from resources where id in (select c.id from chats c where c.parent_chat_id in (select id from gone));
  return null;
end $$;
create trigger chats_gone after delete on chats referencing old table as gone
  for each statement execute function chats_are_gone();

-- Messages form lines. A message continues its parent's line, or starts a new one if that line already continues.
-- A line has its first message's ID and is numbered by depth without gaps, so a page of a path is an index range.
create table messages (
  id ulid primary key,
  chat_id ulid not null references chats on delete cascade,
  parent_id ulid,
  line_id ulid not null,
  depth int not null,
  seq int not null,
  run_id ulid,
  role text not null check (role in ('system', 'user', 'assistant', 'tool')),
  status text not null check (status in ('queued', 'in_progress', 'completed', 'incomplete', 'failed')),
  content jsonb not null default '[]',
  -- The text parts of the content, joined.
  text text not null default '',
  model text,
  provider text,
  finish_reason text,
  usage jsonb,
  cost_nano bigint,
  created_by ulid,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
create unique index messages_line on messages (line_id, depth);
create unique index messages_seq on messages (chat_id, seq);

create sequence run_places;

create table runs (
  id ulid primary key,
  chat_id ulid not null references chats on delete cascade,
  workspace_id ulid not null,
  -- Who started it and pays, and the key. Null `scopes`: all permissions of the account. `held_to`: the only workspace
  -- that the key can access.
  account_id ulid not null,
  key_id ulid,
  scopes text[],
  held_to ulid,
  agent_id ulid,
  -- For a delegated task: the delegating run, and its tool call as `<attempt>:<part>`. Retries of a call don't start
  -- another run.
  parent_run_id ulid,
  parent_call text,
  -- Number of runs above it.
  depth int not null default 0,
  goal_id ulid,
  automation_run_id ulid,
  status text not null check (status in ('queued', 'running', 'requires_action', 'completed', 'failed', 'cancelled')),
  -- Why it waits (`chat_busy`, `restarted`), or what for.
  status_reason text,
  on_busy text not null check (on_busy in ('enqueue', 'reject', 'interrupt')),
  -- The queue order within a chat.
  place bigint not null default nextval('run_places'),
  model text not null,
  -- The model named with the message. Null: the chat's model, read again on each retry.
  named_model text,
  options jsonb not null default '{}',
  input_message_id ulid not null,
  output_message_id ulid,
  pending_actions jsonb not null default '[]',
  -- When the first pending approval expires. Null: never.
  actions_expire_at timestamptz(3),
  error jsonb,
  -- The refusal with billing details, for the account that started the run. Other readers get `error`.
  payer_error jsonb,
  usage jsonb,
  cost_nano bigint,
  -- Cost of the runs below it, included in cost_nano.
  children_nano bigint not null default 0,
  -- The spend limit.
  budget_nano bigint,
  attempt int not null default 1,
  -- The lease: the process running it, and a number that grows with each claim. A process with an outdated number can't
  -- write.
  process_id ulid,
  fence int not null default 0,
  -- Number of take-overs from a dead process. The fence also grows when a run continues after an approval.
  adoptions int not null default 0,
  cancel_requested_at timestamptz(3),
  queued_at timestamptz(3) not null default now(),
  started_at timestamptz(3),
  completed_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  -- The automation that started it.
  automation_id ulid
);
create unique index runs_one_at_a_time on runs (chat_id) where status in ('running', 'requires_action');
create index runs_chat on runs (chat_id, id desc);
create index runs_queue on runs (chat_id, place) where status = 'queued';
create index runs_process on runs (process_id) where status = 'running';
create index runs_goal on runs (goal_id) where goal_id is not null;

-- The cost of an automation's run is the sum of its attempts.
create index runs_of_automation on runs (automation_run_id) where automation_run_id is not null;
create index runs_actions_expire on runs (actions_expire_at) where status = 'requires_action';
create unique index runs_parent_call on runs (parent_run_id, parent_call) where parent_call is not null;
create index runs_parent on runs (parent_run_id) where parent_run_id is not null;

-- Delegated tasks that haven't finished, for the runs above them.
create index runs_delegated on runs (parent_run_id)
  where parent_call is not null and status in ('queued', 'running', 'requires_action');

-- A run's cost is added to its parent's in the same transaction, up to the root.
create function runs_cost_their_parents() returns trigger language plpgsql as $$
begin
  update runs set cost_nano = coalesce(cost_nano, 0) + coalesce(new.cost_nano, 0) - coalesce(old.cost_nano, 0),
    children_nano = children_nano + coalesce(new.cost_nano, 0) - coalesce(old.cost_nano, 0),
    updated_at = greatest(date_trunc('milliseconds', clock_timestamp()), updated_at + interval '1 millisecond')
  where id = new.parent_run_id;
  return null;
end $$;
create trigger runs_cost after update of cost_nano on runs for each row
  when (new.parent_run_id is not null and new.cost_nano is distinct from old.cost_nano)
  execute function runs_cost_their_parents();

-- A run's events, in order and without gaps. `json`, not `jsonb`, so they come back byte for byte. No foreign key:
-- checking it per delta would cost more than the write.
create table run_events (
  run_id ulid not null,
  seq int not null,
  type text not null,
  at timestamptz(3) not null,
  data json not null,
  primary key (run_id, seq)
);

-- A run's steps. A tool's step is written before the tool starts; an unfinished step is repeated only if the tool is
-- safe to repeat.
create table steps (
  run_id ulid not null,
  index int not null,
  attempt int not null default 1,
  kind text not null check (kind in ('model', 'tool', 'compaction', 'evaluation')),
  name text,
  status text not null check (status in ('running', 'completed', 'failed', 'cancelled', 'interrupted')),
  idempotent boolean not null,
  input jsonb,
  result jsonb,
  error jsonb,
  cost_nano bigint,
  started_at timestamptz(3) not null default now(),
  completed_at timestamptz(3),
  primary key (run_id, index)
);

-- Sealed model requests and responses of runs, so that a run can be replayed. Removed after the retention period.
create table model_requests (
  id ulid primary key,
  run_id ulid not null,
  index int not null,
  sealed text not null,
  created_at timestamptz(3) not null default now()
);
create index model_requests_run on model_requests (run_id);
create index model_requests_age on model_requests (created_at);

-- Recently deleted runs. A statement that started before the deletion may still write rows for them; those are removed
-- when no such statement can be left.
create table deleted_runs (
  id ulid primary key,
  deleted_at timestamptz(3) not null default now()
);
create index deleted_runs_age on deleted_runs (deleted_at);

create function runs_are_gone() returns trigger language plpgsql as $$
begin
  insert into deleted_runs (id) select id from gone on conflict do nothing;
  delete from run_events where run_id in (select id from gone);
  delete from steps where run_id in (select id from gone);
  delete from model_requests where run_id in (select id from gone);
  return null;
end $$;
create trigger runs_gone after delete on runs referencing old table as gone
  for each statement execute function runs_are_gone();

-- Goals of chats. Each turn is a run, and a judge reads its answer before the next one.
create table goals (
  id ulid primary key,
  chat_id ulid not null references chats on delete cascade,
  workspace_id ulid not null,
  -- Who set it and pays, as in runs.
  account_id ulid not null,
  key_id ulid,
  scopes text[],
  held_to ulid,
  objective text not null,
  criteria text,
  model text,
  judge_model text,
  max_turns int not null,
  max_cost_nano bigint,
  max_duration_seconds int,
  status text not null check (status in ('active', 'achieved', 'exhausted', 'stalled', 'ended', 'failed')),
  exhausted_by text check (exhausted_by in ('turns', 'cost', 'time')),
  turns_used int not null default 0,
  judge_nano bigint not null default 0,
  last_feedback text,
  without_progress int not null default 0,
  -- Hash of the last answer: the same answer again is no progress.
  last_answer text,
  error jsonb,
  -- The first message of the first turn: the goal applies to branches that contain it.
  first_message_id ulid,
  -- The turn that hasn't been judged yet.
  run_id ulid,
  -- Time used before `active_since`.
  seconds_used double precision not null default 0,
  active_since timestamptz(3) not null,
  completed_at timestamptz(3),
  -- The lease. A claim with an outdated fence can't write.
  process_id ulid,
  claimed_until timestamptz,
  fence int not null default 0,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
create unique index goals_one_active on goals (chat_id) where status = 'active';
create index goals_chat on goals (chat_id, id desc);

-- Pinned chats, per account.
create table chat_pins (
  id ulid primary key,
  account_id ulid not null references accounts on delete cascade,
  chat_id ulid not null references chats on delete cascade,
  unique (account_id, chat_id)
);
create index chat_pins_chat on chat_pins (chat_id);

-- Imported chats by their ID at the source. Importing the same chat again changes nothing.
create table imported_chats (
  workspace_id ulid not null references workspaces on delete cascade,
  source text not null,
  external_id text not null,
  chat_id ulid not null references chats on delete cascade,
  primary key (workspace_id, source, external_id)
);
create index imported_chats_chat on imported_chats (chat_id);

-- Tools that a user allowed an agent to use in a chat without asking again. Valid for that user's runs with that
-- version of the agent and, if given with a key, for runs of that key.
create table chat_approvals (
  id ulid primary key,
  chat_id ulid not null references chats on delete cascade,
  account_id ulid not null references accounts on delete cascade,
  key_id ulid,
  agent_id ulid not null references agents on delete cascade,
  agent_version int not null,
  tool text not null,
  created_at timestamptz(3) not null default now(),
  -- SHA-256 of an outside tool's definition when it was allowed. Null: a tool of this server.
  definition text
);
create index chat_approvals_chat on chat_approvals (chat_id, account_id);
create index chat_approvals_agent on chat_approvals (agent_id);
create index chat_approvals_account on chat_approvals (account_id);

-- IDs of deleted temporary chats. Their calls stay in the ledger, visible in the request log only to their account.
create table deleted_temporary_chats (id ulid primary key);
