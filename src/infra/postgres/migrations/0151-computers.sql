-- Computers: rows of the register whose workspace owns them (a personal one stands for its account), what other workspaces
-- may do with them, the credentials of their daemons, and pairings that wait for a machine.

create table computers (
  id ulid primary key references resources on delete cascade,
  name text not null,
  kind text not null check (kind in ('paired', 'cloud')),
  os text,
  arch text,
  hostname text,
  daemon_version text,
  protocol int,
  lifecycle text not null default 'running'
    check (lifecycle in ('provisioning', 'running', 'stopping', 'stopped', 'starting', 'error', 'deleted')),
  engine text not null default 'absent' check (engine in ('absent', 'stopped', 'starting', 'ready', 'error')),
  -- What the machine's owner lets the server do, as its daemon said last.
  allows text[] not null default '{}',
  driver text,
  image text,
  -- {cpu, memory_mb, processes, enforced}
  limits jsonb,
  -- The server process that holds its link, which of its links that is, and when it was last heard of.
  link_process_id ulid,
  link_epoch bigint not null default 0,
  last_seen_at timestamptz(3)
);
create index computers_linked on computers (link_process_id) where link_process_id is not null;

create table computer_exposures (
  computer_id ulid not null references computers on delete cascade,
  workspace_id ulid not null references workspaces on delete cascade,
  capabilities text[] not null,
  created_by ulid,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  primary key (computer_id, workspace_id)
);
create index computer_exposures_workspace on computer_exposures (workspace_id, computer_id);

-- Null `expires_at`: good until it is replaced. While one is replaced there are two.
create table computer_credentials (
  id ulid primary key,
  computer_id ulid not null references computers on delete cascade,
  credential_hash bytea not null unique,
  expires_at timestamptz(3),
  created_at timestamptz(3) not null default now()
);
create index computer_credentials_of on computer_credentials (computer_id);

create table computer_pairings (
  id ulid primary key,
  -- On whose behalf the machine is taken in, and with no more rights than they had.
  account_id ulid not null references accounts on delete cascade,
  key_id ulid,
  scopes text[],
  held_to ulid,
  workspace_id ulid not null references workspaces on delete cascade,
  name text,
  token_hash bytea not null unique,
  -- The first half of the code says which pairing is meant, the second is what one must know.
  code_half text not null,
  code_hash bytea not null,
  wrong_codes int not null default 0,
  computer_id ulid references computers on delete set null,
  redeemed_at timestamptz(3),
  expires_at timestamptz(3) not null,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
create index computer_pairings_code on computer_pairings (code_half) where redeemed_at is null;
create index computer_pairings_account on computer_pairings (account_id, id desc);
