-- Chats: a tree of messages, the runs that write its answers, the log of what each run did, and goals.

create table chats (
  id ulid primary key references resources on delete cascade,
  title text not null,
  -- `default` until the first message names it (`auto`) or a person does (`user`).
  title_source text not null default 'default' check (title_source in ('default', 'auto', 'user')),
  agent_id ulid,
  model text,
  -- The end of the active branch. Null while there is no message.
  head_message_id ulid,
  forked_from_chat_id ulid,
  forked_from_message_id ulid,
  -- The chat whose run handed its task to this one's agent.
  parent_chat_id ulid,
  -- Its budget.
  max_cost_nano bigint,
  -- The number of the newest message: they are numbered in the order of their making, across branches.
  last_seq int not null default 0,
  last_message_at timestamptz(3),
  -- Only its maker sees it, and it is deleted a day after its last message.
  temporary boolean not null default false
);
create index chats_agent on chats (agent_id) where agent_id is not null;
create index chats_temporary on chats (id) where temporary;
create index chats_parent on chats (parent_chat_id) where parent_chat_id is not null;

-- A chat goes with the chats that were made for its tasks.
create function chats_are_gone() returns trigger language plpgsql as $$
begin
  delete from resources where id in (select c.id from chats c where c.parent_chat_id in (select id from gone));
  return null;
end $$;
create trigger chats_gone after delete on chats referencing old table as gone
  for each statement execute function chats_are_gone();

-- A message lies on a line: it continues its parent's, or begins one of its own where the parent is continued already.
-- A line is named by its first message and numbered without gaps by depth, so a page of a path is a range of an index.
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
  -- Who asked for it and pays, with which key; `scopes` null is all that the account may, `held_to` the only workspace
  -- that the key reaches.
  account_id ulid not null,
  key_id ulid,
  scopes text[],
  held_to ulid,
  agent_id ulid,
  -- The run that handed it a task, and the call of that run that did, as `<attempt>:<part>`: one call has one run, however
  -- often it is made.
  parent_run_id ulid,
  parent_call text,
  -- How many runs stand above it.
  depth int not null default 0,
  goal_id ulid,
  automation_run_id ulid,
  status text not null check (status in ('queued', 'running', 'requires_action', 'completed', 'failed', 'cancelled')),
  -- Why it waits: `chat_busy`, `restarted`; or what it waits for.
  status_reason text,
  on_busy text not null check (on_busy in ('enqueue', 'reject', 'interrupt')),
  -- The order in which runs of a chat get their turn.
  place bigint not null default nextval('run_places'),
  model text not null,
  -- The model that its message named when it was sent; null: its chat chooses, and chooses anew for each retry.
  named_model text,
  options jsonb not null default '{}',
  input_message_id ulid not null,
  output_message_id ulid,
  pending_actions jsonb not null default '[]',
  -- When the first of the calls that it waits with is denied by itself. Null: it waits for as long as it takes.
  actions_expire_at timestamptz(3),
  error jsonb,
  -- Why it was refused, as whoever sent it is told: with what is left of their balance, their key and what they pay
  -- under. All others who read the chat read `error`.
  payer_error jsonb,
  usage jsonb,
  cost_nano bigint,
  -- What the runs below it have cost; it is part of cost_nano.
  children_nano bigint not null default 0,
  -- What it may spend.
  budget_nano bigint,
  attempt int not null default 1,
  -- The lease: the process that runs it, and a number that grows with every claim. A process whose number is
  -- no longer the row's writes nothing more.
  process_id ulid,
  fence int not null default 0,
  -- How often it was taken over from a process that was no more. Its fence grows with every claim, also when a person has
  -- allowed a call and it goes on.
  adoptions int not null default 0,
  cancel_requested_at timestamptz(3),
  queued_at timestamptz(3) not null default now(),
  started_at timestamptz(3),
  completed_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  -- The automation that it was started for.
  automation_id ulid
);
create unique index runs_one_at_a_time on runs (chat_id) where status in ('running', 'requires_action');
create index runs_chat on runs (chat_id, id desc);
create index runs_queue on runs (chat_id, place) where status = 'queued';
create index runs_process on runs (process_id) where status = 'running';
create index runs_goal on runs (goal_id) where goal_id is not null;

-- What an automation's run cost is the sum of its attempts.
create index runs_of_automation on runs (automation_run_id) where automation_run_id is not null;
create index runs_actions_expire on runs (actions_expire_at) where status = 'requires_action';
create unique index runs_parent_call on runs (parent_run_id, parent_call) where parent_call is not null;
create index runs_parent on runs (parent_run_id) where parent_run_id is not null;

-- Runs of tasks that were handed on and have not ended: whoever stands above them may.
create index runs_delegated on runs (parent_run_id)
  where parent_call is not null and status in ('queued', 'running', 'requires_action');

-- What a run costs is a cost of the one that began it too, in the same transaction, and so on upwards.
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

-- What readers of a run see, in order and without gaps. `json`, not `jsonb`: it comes back byte for byte. No foreign
-- key: checking one per delta would cost more than writing it.
create table run_events (
  run_id ulid not null,
  seq int not null,
  type text not null,
  at timestamptz(3) not null,
  data json not null,
  primary key (run_id, seq)
);

-- What a run did or is doing. A tool's step is written before the tool is started: one that has no result and is not
-- safe to repeat is never repeated by itself.
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

-- What runs asked their models and what was said, sealed, for as long as it is kept: a run can be played again from it.
create table model_requests (
  id ulid primary key,
  run_id ulid not null,
  index int not null,
  sealed text not null,
  created_at timestamptz(3) not null default now()
);
create index model_requests_run on model_requests (run_id);
create index model_requests_age on model_requests (created_at);

-- Runs that were deleted a short while ago. A statement that began before the deletion may still write what it saw of them:
-- what came late is removed once no such statement can be left.
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

-- What a chat works towards, turn by turn. Each turn is a run; a judge reads its answer before the next begins.
create table goals (
  id ulid primary key,
  chat_id ulid not null references chats on delete cascade,
  workspace_id ulid not null,
  -- Who set it and pays, as runs remember it.
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
  -- A hash of the last answer: one that says the same again is no progress.
  last_answer text,
  error jsonb,
  -- The first message of its first turn: it governs the branches that hold it.
  first_message_id ulid,
  -- The turn that is not judged yet.
  run_id ulid,
  -- The time it has used before `active_since`.
  seconds_used double precision not null default 0,
  active_since timestamptz(3) not null,
  completed_at timestamptz(3),
  -- Who is at it. A claim whose number is no longer the row's changes nothing.
  process_id ulid,
  claimed_until timestamptz,
  fence int not null default 0,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
create unique index goals_one_active on goals (chat_id) where status = 'active';
create index goals_chat on goals (chat_id, id desc);

-- Chats that somebody keeps at hand, each for themselves.
create table chat_pins (
  id ulid primary key,
  account_id ulid not null references accounts on delete cascade,
  chat_id ulid not null references chats on delete cascade,
  unique (account_id, chat_id)
);
create index chat_pins_chat on chat_pins (chat_id);

-- Chats that were brought from elsewhere, by what they are known by there: brought again with another time each is the same.
create table imported_chats (
  workspace_id ulid not null references workspaces on delete cascade,
  source text not null,
  external_id text not null,
  chat_id ulid not null references chats on delete cascade,
  primary key (workspace_id, source, external_id)
);
create index imported_chats_chat on imported_chats (chat_id);

-- Tools that a person lets an agent use in a chat without being asked again. They hold for runs that work for that person,
-- with that version of the agent, and where they were given by a key for runs of that key.
create table chat_approvals (
  id ulid primary key,
  chat_id ulid not null references chats on delete cascade,
  account_id ulid not null references accounts on delete cascade,
  key_id ulid,
  agent_id ulid not null references agents on delete cascade,
  agent_version int not null,
  tool text not null,
  created_at timestamptz(3) not null default now(),
  -- SHA-256 of the definition that an outside server gave its tool. Null: a tool of this server.
  definition text
);
create index chat_approvals_chat on chat_approvals (chat_id, account_id);
create index chat_approvals_agent on chat_approvals (agent_id);
create index chat_approvals_account on chat_approvals (account_id);

-- Ids of deleted temporary chats. Their calls stay in the ledger, and the request log shows them to their account alone.
create table deleted_temporary_chats (id ulid primary key);
