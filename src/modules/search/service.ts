import type { Context } from '#infra/context.ts'
import { implementWith } from '#core/implement.ts'
import { search } from './contract.ts'
import type { SearchHandles } from './index/embedding.ts'
import { find } from './query/find.ts'

export type { SearchHandles } from './index/embedding.ts'
export { searchConsumer, searchWork } from './index/indexer.ts'

export const searchService = implementWith<Context<SearchHandles>>()(search, {
  query: (ctx, asked) => find(ctx, asked),
})
