-- What the clock may still start for an account within the minute: a bucket that is filled up as time goes by.
create table automation_starts (
  account_id ulid primary key references accounts on delete cascade,
  tokens double precision not null,
  at timestamptz(3) not null
);
alter table automation_runs drop constraint automation_runs_skip_reason_check;
-- Rows of before are among fewer reasons: none of them needs to be looked at.
alter table automation_runs add constraint automation_runs_skip_reason_check
  check (skip_reason in ('overlap', 'missed', 'archived', 'budget', 'rate_limited')) not valid;
