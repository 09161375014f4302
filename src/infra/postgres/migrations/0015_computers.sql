-- Computers (owned by a workspace), the access of other workspaces, daemon credentials, and pairings.

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
  -- What the machine's owner allows, as last reported by the daemon.
  allows text[] not null default '{}',
  driver text,
  image text,
  -- {cpu, memory_mb, processes, enforced}
  limits jsonb,
  -- The server process that holds the link, the link's number, and when the daemon was last heard from.
  link_process_id ulid,
  link_epoch bigint not null default 0,
  last_seen_at timestamptz(3),
  -- A manager of the workspace trusts it: they paired it, or mapped one of its models.
  vouched boolean not null default false,
  -- When the link broke unexpectedly. Null: it's connected, never was, or disconnected on purpose.
  lost_at timestamptz,
  -- The newest answered questions, so a late answer to an older one changes nothing.
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

-- Null `expires_at`: valid until replaced. During a replacement there are two.
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
  -- The account that pairs it, and its permissions.
  account_id ulid not null references accounts on delete cascade,
  key_id ulid,
  scopes text[],
  held_to ulid,
  workspace_id ulid not null references workspaces on delete cascade,
  name text,
  token_hash bytea not null unique,
  -- The first half of the code selects the pairing, the second half is the secret.
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

-- Labels of ports, and access tickets.

create table computer_ports (
  computer_id ulid not null references computers on delete cascade,
  port int not null check (port between 1 and 65535),
  label text not null,
  updated_at timestamptz(3) not null default now(),
  primary key (computer_id, port)
);

-- Tickets for clients that can't send credentials, to a port or a terminal of a computer. A port's ticket is redeemed
-- for a browser cookie. Tickets expire with the session or key that created them.
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

-- Local models as last reported by daemons, installations, and mappings to platform models.
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
  -- The platform model that it serves.
  mapping text,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  unique (computer_id, name)
);

-- Operations on a computer's engines.
create table local_inference_operations (
  operation_id ulid primary key references operations on delete cascade,
  computer_id ulid not null references computers on delete cascade,
  -- Null: installs an engine.
  model_id ulid,
  phase text check (phase in ('resolving', 'downloading', 'verifying', 'loading', 'removing')),
  bytes_done bigint not null default 0,
  bytes_total bigint
);
create index local_inference_operations_of on local_inference_operations (computer_id, operation_id desc);

-- Sandboxes of this instance, their removal, and snapshots of home directories, which outlive their computer.

create sequence cloud_computer_numbers;
create table cloud_computers (
  computer_id ulid primary key references computers on delete cascade,
  driver text not null,
  -- The data directory with its home. Only that host's server processes manage it, one at a time.
  host text not null,
  -- Determines its user account on the host.
  number bigint not null default nextval('cloud_computer_numbers'),
  image text not null,
  cpu real,
  memory_mb int,
  processes int,
  network text not null,
  idle_stop_seconds int,
  from_snapshot ulid,
  -- Its home exists: starting it again keeps that.
  made boolean not null default false,
  -- Why it's in `error`, for its owner.
  reason text,
  -- Unexpected exits since it last ran for a while.
  deaths int not null default 0,
  started_at timestamptz(3),
  used_at timestamptz(3) not null default now(),
  -- The disk limit of its home, and its last measured size.
  disk_mb int,
  disk_used_bytes bigint
);
create index cloud_computers_of_host on cloud_computers (host);

-- Sandboxes and homes of deleted computers, to be removed. Written by a trigger, so also when a workspace is deleted.
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
  -- No foreign key: snapshots outlive the computer.
  computer_id ulid not null,
  computer_name text not null,
  name text,
  created_by ulid,
  status text not null default 'creating' check (status in ('creating', 'ready', 'failed')),
  -- The packed home: tar, Zstandard.
  sha256 char(64) collate "C" references blobs,
  size_bytes bigint,
  -- Number of entries packed and verified.
  entries bigint,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  -- The unpacked size.
  home_bytes bigint
);
create index computer_snapshots_workspace on computer_snapshots (workspace_id, id desc);
create index computer_snapshots_computer on computer_snapshots (computer_id, id desc);
create index computer_snapshots_creating on computer_snapshots (computer_id) where status = 'creating';
create index computer_snapshots_blob on computer_snapshots (sha256) where sha256 is not null;

-- Background commands that may be running on a computer, from before their start until their end is known. If the
-- operation has ended otherwise, the command is stopped when the computer connects.

create table computer_commands (
  operation_id ulid primary key,
  computer_id ulid not null references computers on delete cascade,
  created_at timestamptz(3) not null default now()
);
create index computer_commands_computer on computer_commands (computer_id);

-- Open stdin streams of commands, except background commands, which belong to operations.
create table open_stdins (
  exec_id ulid primary key,
  computer_id ulid not null references computers on delete cascade,
  account_id ulid not null,
  -- The workspace that it was started through, if any.
  workspace_id ulid,
  created_at timestamptz(3) not null default now()
);
create index open_stdins_computer on open_stdins (computer_id);
create index open_stdins_age on open_stdins (created_at);

-- Numbers the questions to daemons.
create sequence questions_to_daemons;
