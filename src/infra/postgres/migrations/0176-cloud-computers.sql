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
  used_at timestamptz(3) not null default now()
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
  sha256 text references blobs,
  size_bytes bigint,
  -- What was packed, and what was found when it was read again.
  entries bigint,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
create index computer_snapshots_workspace on computer_snapshots (workspace_id, id desc);
create index computer_snapshots_computer on computer_snapshots (computer_id, id desc);
create index computer_snapshots_blob on computer_snapshots (sha256) where sha256 is not null;
