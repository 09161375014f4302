-- What runs asked their models and what was said, sealed, for as long as it is kept: a run can be played again from it.
create table model_requests (
  id ulid primary key,
  run_id ulid not null,
  index int not null,
  sealed text not null,
  created_at timestamptz(3) not null default now()
);
create index model_requests_run on model_requests (run_id);
create index model_requests_age on model_requests (created_at);

create or replace function runs_are_gone() returns trigger language plpgsql as $$
begin
  delete from run_events where run_id in (select id from gone);
  delete from steps where run_id in (select id from gone);
  delete from model_requests where run_id in (select id from gone);
  return null;
end $$;
