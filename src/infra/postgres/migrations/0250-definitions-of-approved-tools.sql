-- What an outside server said that its tool is when a person allowed it: a SHA-256. Null: a tool of this server's own, or an
-- approval of before this was kept, which is not good for an outside tool any more.
alter table chat_approvals add column definition text;
