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
create index runs_goal on runs (goal_id) where goal_id is not null;
