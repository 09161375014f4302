-- Chats that only who made them sees, and that go a day after their last message.
alter table chats add column temporary boolean not null default false;
create index chats_temporary on chats (id) where temporary;
