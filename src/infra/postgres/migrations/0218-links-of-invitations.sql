-- The answer of an invitation or a share has a link, and so has the mail to its address; each has a token of its own. Who
-- presents the mail's has shown that the address is theirs; who presents the other one got it from whoever invited.
alter table invitations add mail_token_hash bytea unique;
update invitations set mail_token_hash = token_hash where mailed;
-- `mailed` stays for servers of the version before; this one does not read it.
alter table shares add mail_token_hash bytea unique;
