-- Tools that a person lets an agent use in a chat without being asked again. They hold for runs that work for that person,
-- with that version of the agent, and where they were given by a key for runs of that key.
create table chat_approvals (
  id ulid primary key,
  chat_id ulid not null references chats on delete cascade,
  account_id ulid not null references accounts on delete cascade,
  key_id ulid,
  agent_id ulid not null references agents on delete cascade,
  agent_version int not null,
  tool text not null,
  created_at timestamptz(3) not null default now()
);
create index chat_approvals_chat on chat_approvals (chat_id, account_id);
create index chat_approvals_agent on chat_approvals (agent_id);
create index chat_approvals_account on chat_approvals (account_id);
