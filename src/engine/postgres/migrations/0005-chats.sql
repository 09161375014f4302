-- Chats: a tree of messages, the runs that write its answers, and the log of what each run did.

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
  -- The number of the newest message: they are numbered in the order of their making, across branches.
  last_seq int not null default 0,
  last_message_at timestamptz(3)
);
create index chats_agent on chats (agent_id) where agent_id is not null;

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
  parent_run_id ulid,
  goal_id ulid,
  automation_run_id ulid,
  status text not null check (status in ('queued', 'running', 'requires_action', 'completed', 'failed', 'cancelled')),
  -- Why it waits: `chat_busy`, `restarted`; or what it waits for.
  status_reason text,
  on_busy text not null check (on_busy in ('enqueue', 'reject', 'interrupt')),
  -- The order in which runs of a chat get their turn.
  place bigint not null default nextval('run_places'),
  model text not null,
  options jsonb not null default '{}',
  input_message_id ulid not null,
  output_message_id ulid,
  pending_actions jsonb not null default '[]',
  error jsonb,
  usage jsonb,
  cost_nano bigint,
  attempt int not null default 1,
  -- The lease: the process that runs it, and a number that grows with every claim. A process whose number is
  -- no longer the row's writes nothing more.
  process_id ulid,
  fence int not null default 0,
  cancel_requested_at timestamptz(3),
  queued_at timestamptz(3) not null default now(),
  started_at timestamptz(3),
  completed_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
create unique index runs_one_at_a_time on runs (chat_id) where status in ('running', 'requires_action');
create index runs_chat on runs (chat_id, id desc);
create index runs_queue on runs (chat_id, place) where status = 'queued';
create index runs_process on runs (process_id) where status = 'running';

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

create function runs_are_gone() returns trigger language plpgsql as $$
begin
  delete from run_events where run_id in (select id from gone);
  delete from steps where run_id in (select id from gone);
  return null;
end $$;
create trigger runs_gone after delete on runs referencing old table as gone
  for each statement execute function runs_are_gone();
