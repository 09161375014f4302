import type { Context } from '#infra/context.ts'
import type { Page } from '#core/answers.ts'
import type { Input } from '#core/contract.ts'
import { refuse } from '#core/errors.ts'
import { cursorOf, positionOf, wholeAt } from '#core/paging.ts'
import type { Output } from '#daemon-protocol/operations.ts'
import type { userEndpoints } from '../contract-machine.ts'
import type { HasLinks } from '../link/links.ts'
import { listAll } from '../link/whole-list.ts'

type Ctx = Context<HasLinks>
type User = Output<'users.list'>['users'][number]

const all = async ({ engine, signal }: Ctx, id: string): Promise<User[]> =>
  (await listAll(engine.links, id, 'users.list', signal)).flatMap(({ users }) => users)

export async function listUsers(
  ctx: Ctx,
  { id, limit, cursor }: Input<typeof userEndpoints.users>,
): Promise<Page<User>> {
  // Keeps pages stable while accounts change.
  const after = wholeAt(positionOf('machine_users', id, cursor), 0) ?? -1
  const rows = (await all(ctx, id)).filter(({ uid }) => uid > after).slice(0, limit + 1)
  const page = rows.slice(0, limit)
  return { rows: page, next: rows.length > limit ? cursorOf('machine_users', id, [page.at(-1)!.uid]) : null }
}

export const getUser = async (ctx: Ctx, { id, username }: Input<typeof userEndpoints.user>): Promise<User> =>
  (await all(ctx, id)).find((user) => user.username === username) ??
  refuse('not_found', { param: 'username', message: 'The user doesn’t exist on this computer.' })

export const createUser = (
  { engine, signal }: Ctx,
  { id, username, shell, groups }: Input<typeof userEndpoints.create_user>,
): Promise<User> => engine.links.ask(id, 'users.create', { username, shell: shell ?? null, groups }, { signal })

export const updateUser = (
  { engine, signal }: Ctx,
  { id, username, shell, groups }: Input<typeof userEndpoints.update_user>,
): Promise<User> =>
  engine.links.ask(id, 'users.update', { username, shell: shell ?? null, groups: groups ?? null }, { signal })

export async function deleteUser(
  { engine, signal }: Ctx,
  { id, username, remove_home, force }: Input<typeof userEndpoints.delete_user>,
): Promise<{ id: string }> {
  await engine.links.ask(id, 'users.delete', { username, remove_home, force }, { signal })
  return { id: username }
}
