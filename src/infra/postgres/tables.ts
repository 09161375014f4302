/**
 * Kysely's tables. Each store adds its own by augmentation, next to its queries: `declare module
 * '#infra/postgres/tables.ts' { interface Database { chats: ChatTable } }`
 */
export interface Database {}
