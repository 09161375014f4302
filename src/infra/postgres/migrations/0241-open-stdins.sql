-- Whose the stdin of a command is that was begun with it open: those in the background are their operations' already.
create table open_stdins (
  exec_id ulid primary key,
  computer_id ulid not null references computers on delete cascade,
  account_id ulid not null,
  -- By which it was begun; null: by none.
  workspace_id ulid,
  created_at timestamptz(3) not null default now()
);
create index open_stdins_computer on open_stdins (computer_id);
create index open_stdins_age on open_stdins (created_at);
