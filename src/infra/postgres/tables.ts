/**
 * The tables that Kysely knows. Each store adds its own by augmentation, beside the queries that use them:
 * `declare module '#infra/postgres/tables.ts' { interface Database { chats: ChatTable } }`
 */
export interface Database {}
