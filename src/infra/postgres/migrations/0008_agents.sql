-- Agents: the current version, and every version.
create table agents (
  id ulid primary key references resources on delete cascade,
  name text not null,
  description text,
  system_prompt text,
  model text,
  tools jsonb not null default '[]',
  -- Tools besides this server's endpoints: outside MCP servers and other agents.
  mcp_servers jsonb not null default '[]',
  -- Headers for those servers as JSON, sealed under the agent's ID.
  sealed_headers text,
  subagents jsonb not null default '[]',
  -- The accounts that last changed the tools, and their permissions then: tools can't exceed them. A null account has
  -- no permissions.
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
