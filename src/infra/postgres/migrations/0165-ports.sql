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
