-- Agents: the row of the present version, and every version as it was.
create table agents (
  id ulid primary key references resources on delete cascade,
  name text not null,
  description text,
  system_prompt text,
  model text,
  tools jsonb not null default '[]',
  -- What it uses beside the endpoints of this server: outside servers of the Model Context Protocol, and other agents.
  mcp_servers jsonb not null default '[]',
  -- The headers that go to those servers, by server: JSON, sealed under the agent's id.
  sealed_headers text,
  subagents jsonb not null default '[]',
  -- Who last set what it may use, with how much of their rights: its tools reach no further than they do. What does not
  -- say who it was reaches nothing.
  tools_by jsonb not null default '[{"account_id":null,"scopes":null,"held_to":null}]',
  output_schema jsonb,
  max_turns int,
  spend_cap_nano bigint,
  spend_cap_period text not null default 'month' check (spend_cap_period in ('day', 'week', 'month', 'total')),
  version int not null default 1
);
create index agents_subagents on agents using gin (subagents jsonb_path_ops);

create table agent_versions (
  id ulid primary key,
  agent_id ulid not null references agents on delete cascade,
  version int not null,
  definition jsonb not null,
  created_by ulid,
  created_at timestamptz(3) not null default now(),
  unique (agent_id, version)
);
