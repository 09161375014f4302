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
  last_seen_at timestamptz(3),
  -- A manager of its workspace stands for what it says: they paired it there, or mapped one of its models.
  vouched boolean not null default false,
  -- When its link broke without a goodbye: for a while it is expected back.
  lost_at timestamptz,
  -- The order of questions: the answer to an older question changes nothing after that to a newer one.
  models_asked bigint not null default 0,
  engines_asked bigint not null default 0
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

-- What people call the ports of a computer, whatever listens there, and who may look at what does.

create table computer_ports (
  computer_id ulid not null references computers on delete cascade,
  port int not null check (port between 1 and 65535),
  label text not null,
  updated_at timestamptz(3) not null default now(),
  primary key (computer_id, port)
);

-- A ticket lets somebody in who can send no credential, to a port of a computer or to one of its terminals. That of a port is
-- a ticket until it is redeemed, then what a browser has a cookie of. None lasts longer than the session or key that it was
-- made with.
create table computer_tickets (
  token_hash bytea primary key,
  entered boolean not null default false,
  computer_id ulid not null references computers on delete cascade,
  port int,
  terminal_id text,
  account_id ulid not null references accounts on delete cascade,
  session_id ulid references sessions on delete cascade,
  key_id ulid references api_keys on delete cascade,
  scopes text[],
  held_to ulid,
  lenders jsonb not null default '[]',
  expires_at timestamptz(3) not null,
  ends_at timestamptz(3) not null,
  check ((port is null) <> (terminal_id is null))
);
create index computer_tickets_computer on computer_tickets (computer_id);
create index computer_tickets_expiry on computer_tickets (expires_at);

-- Models on computers, as their daemons last told of them, what is being installed, and the platform's names that they serve.
create table local_models (
  id ulid primary key,
  computer_id ulid not null references computers on delete cascade,
  name text not null,
  engine text not null check (engine in ('llama', 'sherpa', 'ollama')),
  size_bytes bigint not null default 0,
  digest text,
  context_length int,
  quantization text,
  embeds boolean not null default false,
  status text not null check (status in ('installing', 'ready', 'broken')),
  loaded boolean not null default false,
  -- The platform's id of a model that this one answers for.
  mapping text,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  unique (computer_id, name)
);

-- What an operation has to do with a computer's engines, beside what all operations have.
create table local_inference_operations (
  operation_id ulid primary key references operations on delete cascade,
  computer_id ulid not null references computers on delete cascade,
  -- Null: it installs an engine.
  model_id ulid,
  phase text check (phase in ('resolving', 'downloading', 'verifying', 'loading', 'removing')),
  bytes_done bigint not null default 0,
  bytes_total bigint
);
create index local_inference_operations_of on local_inference_operations (computer_id, operation_id desc);

-- Computers that a driver of this instance makes, what is left of those that were deleted until it is removed, and
-- snapshots of homes, which outlive their computers.

create sequence cloud_computer_numbers;
create table cloud_computers (
  computer_id ulid primary key references computers on delete cascade,
  driver text not null,
  -- The data dir that has its home: whose server processes look after it, one at a time.
  host text not null,
  -- Its account on the host is made of it.
  number bigint not null default nextval('cloud_computer_numbers'),
  image text not null,
  cpu real,
  memory_mb int,
  processes int,
  network text not null,
  idle_stop_seconds int,
  from_snapshot ulid,
  -- Its home is there: what starts it again leaves that alone.
  made boolean not null default false,
  -- Why it is in `error`, for its owner.
  reason text,
  -- How often it ended by itself since it last ran for a while.
  deaths int not null default 0,
  started_at timestamptz(3),
  used_at timestamptz(3) not null default now(),
  -- The limit of its home on the host, and its size when last measured.
  disk_mb int,
  disk_used_bytes bigint
);
create index cloud_computers_of_host on cloud_computers (host);

-- A deleted computer's sandbox and home, to be ended and removed. Written however the row goes: with its workspace, too.
create table cloud_remains (
  computer_id ulid primary key,
  driver text not null,
  host text not null,
  number bigint not null,
  created_at timestamptz(3) not null default now()
);
create function leave_cloud_remains() returns trigger language plpgsql as $$
begin
  insert into cloud_remains (computer_id, driver, host, number) values (old.computer_id, old.driver, old.host, old.number)
    on conflict do nothing;
  return old;
end $$;
create trigger leave_cloud_remains after delete on cloud_computers for each row execute function leave_cloud_remains();

create table computer_snapshots (
  id ulid primary key,
  workspace_id ulid not null references workspaces on delete cascade,
  -- No reference: it stays when its computer goes.
  computer_id ulid not null,
  computer_name text not null,
  name text,
  created_by ulid,
  status text not null default 'creating' check (status in ('creating', 'ready', 'failed')),
  -- Of the packed home, `tar` in Zstandard.
  sha256 char(64) collate "C" references blobs,
  size_bytes bigint,
  -- What was packed, and what was found when it was read again.
  entries bigint,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  -- What a home made from it takes, unpacked.
  home_bytes bigint
);
create index computer_snapshots_workspace on computer_snapshots (workspace_id, id desc);
create index computer_snapshots_computer on computer_snapshots (computer_id, id desc);
create index computer_snapshots_creating on computer_snapshots (computer_id) where status = 'creating';
create index computer_snapshots_blob on computer_snapshots (sha256) where sha256 is not null;

-- Commands in the background that may live on a computer, from before they begin until their end is known. One whose operation
-- has ended otherwise is ended there as soon as its computer is linked, whatever became of the server that was asked to.

create table computer_commands (
  operation_id ulid primary key,
  computer_id ulid not null references computers on delete cascade,
  created_at timestamptz(3) not null default now()
);
create index computer_commands_computer on computer_commands (computer_id);

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

-- Numbers the questions to daemons.
create sequence questions_to_daemons;
