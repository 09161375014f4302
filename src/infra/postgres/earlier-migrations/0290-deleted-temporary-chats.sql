-- Ids of deleted temporary chats. Their calls stay in the ledger, and the request log shows them to their account alone.
create table deleted_temporary_chats (id ulid primary key);
