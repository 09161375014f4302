-- Whether the token went to the address and to nobody else: then whoever presents it has shown that the address is theirs.
alter table invitations add column mailed boolean not null default false;
create index invitations_email on invitations (lower(email)) where status = 'pending';
