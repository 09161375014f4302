-- Runs that were deleted a short while ago. A statement that began before the deletion may still write what it saw of them:
-- what came late is removed once no such statement can be left.
create table deleted_runs (
  id ulid primary key,
  deleted_at timestamptz(3) not null default now()
);
create index deleted_runs_age on deleted_runs (deleted_at);

create or replace function runs_are_gone() returns trigger language plpgsql as $$
begin
  insert into deleted_runs (id) select id from gone on conflict do nothing;
  delete from run_events where run_id in (select id from gone);
  delete from steps where run_id in (select id from gone);
  delete from model_requests where run_id in (select id from gone);
  return null;
end $$;
