-- Agents: the row of the present version, and every version as it was.
create table agents (
  id ulid primary key references resources on delete cascade,
  name text not null,
  description text,
  system_prompt text,
  model text,
  tools jsonb not null default '[]',
  output_schema jsonb,
  max_turns int,
  version int not null default 1
);

create table agent_versions (
  id ulid primary key,
  agent_id ulid not null references agents on delete cascade,
  version int not null,
  definition jsonb not null,
  created_by ulid,
  created_at timestamptz(3) not null default now(),
  unique (agent_id, version)
);

-- Lists page through this index. Its ids sort by another operator than those of the primary key (the same order): so the
-- planner cannot walk the primary key in hope of soon meeting enough rows of an old, quiet workspace.
drop index resources_list;
create index resources_list on resources (workspace_id, kind, status, id bpchar_pattern_ops desc);
