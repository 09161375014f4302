-- Budgets of chats and agents, and runs that other runs have begun.

alter table chats
  add column max_cost_nano bigint,
  -- The chat whose run handed its task to this one's agent.
  add column parent_chat_id ulid;
create index chats_parent on chats (parent_chat_id) where parent_chat_id is not null;

alter table agents
  add column spend_cap_nano bigint,
  add column spend_cap_period text not null default 'month' check (spend_cap_period in ('day', 'week', 'month', 'total'));

alter table runs
  -- The call of its parent that handed it a task, as `<attempt>:<part>`: one call has one run, however often it is made.
  add column parent_call text,
  -- How many runs stand above it.
  add column depth int not null default 0,
  -- What the runs below it have cost; it is part of cost_nano.
  add column children_nano bigint not null default 0;
create unique index runs_parent_call on runs (parent_run_id, parent_call) where parent_call is not null;
create index runs_parent on runs (parent_run_id) where parent_run_id is not null;

-- What a run costs is a cost of the one that began it too, in the same transaction, and so on upwards.
create function runs_cost_their_parents() returns trigger language plpgsql as $$
begin
  update runs set cost_nano = coalesce(cost_nano, 0) + coalesce(new.cost_nano, 0) - coalesce(old.cost_nano, 0),
    children_nano = children_nano + coalesce(new.cost_nano, 0) - coalesce(old.cost_nano, 0),
    updated_at = greatest(date_trunc('milliseconds', clock_timestamp()), updated_at + interval '1 millisecond')
  where id = new.parent_run_id;
  return null;
end $$;
create trigger runs_cost after update of cost_nano on runs for each row
  when (new.parent_run_id is not null and new.cost_nano is distinct from old.cost_nano)
  execute function runs_cost_their_parents();

-- A chat goes with the chats that were made for its tasks.
create function chats_are_gone() returns trigger language plpgsql as $$
begin
  delete from resources where id in (select c.id from chats c where c.parent_chat_id in (select id from gone));
  return null;
end $$;
create trigger chats_gone after delete on chats referencing old table as gone
  for each statement execute function chats_are_gone();

-- What was spent before a budget is set counts.
insert into spends as s (subject, period, nano)
  select chat_id, 'total', sum(cost_nano) from calls where chat_id is not null and cost_nano > 0 group by 1
  on conflict (subject, period) do update set nano = excluded.nano;
insert into spends as s (subject, period, nano)
  select r.agent_id, p, sum(c.cost_nano) from calls c join runs r on r.id = c.run_id, unnest(periods_of(c.day)) p
  where r.agent_id is not null and c.cost_nano > 0 group by 1, 2
  on conflict (subject, period) do update set nano = excluded.nano;
