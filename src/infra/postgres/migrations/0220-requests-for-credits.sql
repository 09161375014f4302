-- Somebody who has nothing left asks the administrator for credits.
create table credit_requests (
  id ulid primary key,
  account_id ulid not null references accounts on delete cascade,
  -- Null: as the administrator sees fit.
  amount_nano bigint check (amount_nano > 0),
  note text not null default '',
  status text not null default 'pending' check (status in ('pending', 'granted', 'refused')),
  granted_nano bigint,
  answer text,
  answered_by ulid references accounts on delete set null,
  answered_at timestamptz(3),
  created_at timestamptz(3) not null default clock_timestamp(),
  updated_at timestamptz(3) not null default clock_timestamp()
);
-- One at a time.
create unique index credit_requests_open on credit_requests (account_id) where status = 'pending';
create index credit_requests_account on credit_requests (account_id, id desc);
