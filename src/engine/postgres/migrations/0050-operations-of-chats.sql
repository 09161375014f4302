-- An operation goes on in a chat, which may be shared: who has a place there by a share has it with what they began.
alter table operations add column chat_id text;
update operations set chat_id = input ->> 'chat_id' where resource_type = 'run';
