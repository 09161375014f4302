/** People who take steps on a server, and the world as the rules say that it is behind each. */
import assert from 'node:assert/strict'
import type { Answer, Person } from '../../server.ts'
import { compare } from './access-looks.ts'
import {
  type Kind,
  type Place,
  type Role,
  type Said,
  type Thing,
  type Who,
  type Workspace,
  type World,
  answers,
  changeStatus,
  inviteStatus,
  keepStatus,
  namedStatus,
  pathOf,
  readStatus,
  removeStatus,
  shareStatus,
  targetStatus,
  unshareStatus,
} from './access-rules.ts'
import type { Step } from './access-steps.ts'

export class Play {
  readonly #people: readonly Person[]
  readonly #world: World = { workspaces: [], things: new Map(), shares: [] }
  #said = 0

  constructor(people: readonly Person[]) {
    this.#people = people
    for (const [i, { workspaceId }] of people.entries())
      this.#world.workspaces.push({
        id: workspaceId,
        personal: true,
        archived: false,
        members: new Map([[i, whole('owner')]]),
      })
  }

  /** A team of three with an agent and a chat, and another team whose owner has that chat by a share. */
  async begin(): Promise<void> {
    const [team, other] = [this.#people.length, this.#people.length + 1]
    for (const one of [
      { by: 0, do: 'workspace' },
      { by: 3, do: 'workspace' },
      { by: 0, do: 'invite', at: team, who: 1, place: whole('member') },
      { by: 0, do: 'invite', at: team, who: 2, place: whole('viewer') },
      { by: 3, do: 'invite', at: other, who: 1, place: whole('member') },
      { by: 1, do: 'make', at: team, kind: 'chat', agent: null },
      { by: 1, do: 'make', at: team, kind: 'agent', agent: null },
      { by: 1, do: 'share', of: 0, to: { who: 3 }, access: 'edit' },
    ] satisfies Step[])
      await this.step(one)
  }

  async end(): Promise<void> {
    for (const workspace of this.#world.workspaces.filter(({ personal }) => !personal)) {
      const [owner] = [...workspace.members].find(
        ([, { role, permissions: held }]) => role === 'owner' && held === null,
      ) ?? [0]
      await this.#people[owner]!.delete(`/workspaces/${workspace.id}?confirm=Team`)
    }
  }

  async step(one: Step): Promise<void> {
    const { status, expected, done } = await this.#take(one)
    assert.equal(
      status.status,
      expected.status === 0 ? expected.ok : expected.status,
      `${JSON.stringify(one)} ${status.text}`,
    )
    if (expected.status === 0) await done?.(status)
  }

  /** The step's answer, the answer it must get, and how the world is afterwards where it was done. */
  async #take(one: Step): Promise<{
    status: Answer
    expected: { status: number; ok: number }
    done?: (answer: Answer) => void | Promise<void>
  }> {
    const world = this.#world
    const by = this.#people[one.by]!
    const due = (status: number, ok = 200) => ({ status, ok })
    const chatPath = (thing: Thing): string => `/${thing.kind}s/${thing.id}`
    switch (one.do) {
      case 'workspace':
        return {
          status: await by.post('/workspaces', { name: 'Team' }),
          expected: due(0, 201),
          done: ({ body }) =>
            void world.workspaces.push({
              id: body.data.id,
              personal: false,
              archived: false,
              members: new Map([[one.by, whole('owner')]]),
            }),
        }
      case 'invite': {
        const workspace = this.#workspace(one.at)
        const { email } = this.#people[one.who]!
        return {
          status: await by.post(`/workspaces/${workspace.id}/invitations`, { email, ...one.place }),
          expected: due(inviteStatus(workspace, one.by, one.who, one.place), 201),
          done: async ({ body }) => {
            const taken = await this.#people[one.who]!.post('/invitations/accept', { token: body.data.token })
            assert.equal(taken.status, 200, taken.text)
            workspace.members.set(one.who, one.place)
          },
        }
      }
      case 'remove': {
        const workspace = this.#workspace(one.at)
        return {
          status: await by.delete(`/workspaces/${workspace.id}/members/${this.#people[one.who]!.id}`),
          expected: due(removeStatus(workspace, one.by, one.who)),
          done: () => void workspace.members.delete(one.who),
        }
      }
      case 'keep': {
        const workspace = this.#workspace(one.at)
        const at = `/workspaces/${workspace.id}`
        if (one.how === 'delete')
          return {
            status: await by.delete(`${at}?confirm=Team`),
            expected: due(keepStatus(workspace, one.by, 'owner')),
            done: () => this.#drop(workspace),
          }
        return {
          status: await by.post(`${at}/${one.how}`),
          expected: due(keepStatus(workspace, one.by, 'admin')),
          done: () => void (workspace.archived = one.how === 'archive'),
        }
      }
      case 'make': {
        const workspace = this.#workspace(one.at)
        const agent = one.kind === 'chat' && one.agent !== null ? this.#thing(one.agent, 'agent') : null
        const given =
          one.kind === 'agent'
            ? { name: 'Helper', model: 'sim/echo' }
            : { title: 'A chat', model: 'sim/echo', agent_id: agent?.id ?? null }
        return {
          status: await by.post(`/${one.kind}s`, { workspace_id: workspace.id, ...given }),
          expected: due(
            targetStatus(workspace, one.by, one.kind) || (agent === null ? 0 : namedStatus(agent, one.by)),
            201,
          ),
          done: ({ body }) => this.#add(body.data.id, one.kind, workspace, { agent: agent?.id ?? null }),
        }
      }
      case 'send': {
        const chat = this.#thing(one.of, 'chat')
        if (chat === null) return nothing
        const known = chat.messages.flatMap((message, i) =>
          message.id !== null && message.text.startsWith('assistant') ? i : [],
        )
        const parent = one.parent === null || known.length === 0 ? null : known[one.parent % known.length]!
        const words = `words ${this.#said++}`
        const status = changeStatus(world, chat, one.by, { scope: 'chat:run', onShare: true })
        return {
          status: await by.post(`/chats/${chat.id}/messages`, {
            content: words,
            parent_id: parent === null ? null : chat.messages[parent]!.id,
          }),
          expected: due(status || (answers(world, chat, one.by) && chat.status === 'active' ? 0 : 409)),
          done: ({ body: { data } }) => {
            const at = chat.messages.push({ parent, text: `user ${words}`, id: data.parent_id }) - 1
            chat.head = chat.messages.push({ parent: at, text: `assistant ${words}`, id: data.id }) - 1
          },
        }
      }
      case 'copy': {
        const thing = this.#thing(one.of)
        if (thing === null) return nothing
        const workspace = this.#workspace(one.at)
        const how = thing.kind === 'agent' || one.how === 'copy' ? 'copy-to-workspace' : 'fork-to-workspace'
        return {
          status: await by.post(`${chatPath(thing)}/${how}`, { workspace_id: workspace.id }),
          expected: due(readStatus(world, thing, one.by) || targetStatus(workspace, one.by, thing.kind), 201),
          done: ({ body }) => {
            const agent = thing.agent === null ? null : (world.things.get(thing.agent) ?? null)
            const comes = agent !== null && agent.workspace === workspace && namedStatus(agent, one.by) === 0
            this.#add(body.data.id, thing.kind, workspace, {
              ...(how === 'fork-to-workspace' ? inLine(pathOf(thing)) : copied(thing)),
              agent: comes ? agent.id : null,
            })
          },
        }
      }
      case 'adopt': {
        const chat = this.#thing(one.of, 'chat')
        const agent = this.#thing(one.agent, 'agent')
        if (chat === null || agent === null) return nothing
        return {
          status: await by.post(`/chats/${chat.id}/copy-to-agent`, { agent_id: agent.id }),
          expected: due(
            readStatus(world, chat, one.by) ||
              namedStatus(agent, one.by) ||
              targetStatus(agent.workspace, one.by, 'chat'),
            201,
          ),
          done: ({ body }) => this.#add(body.data.id, 'chat', agent.workspace, { ...copied(chat), agent: agent.id }),
        }
      }
      case 'move': {
        const agent = this.#thing(one.of, 'agent')
        if (agent === null) return nothing
        const workspace = this.#workspace(one.at)
        return {
          status: await by.post(`/agents/${agent.id}/move`, { workspace_id: workspace.id }),
          expected: due(changeStatus(world, agent, one.by) || targetStatus(workspace, one.by, 'agent')),
          done: () => void (agent.workspace = workspace),
        }
      }
      case 'rename': {
        const thing = this.#thing(one.of)
        if (thing === null) return nothing
        return {
          status: await by.patch(chatPath(thing), thing.kind === 'chat' ? { title: 'Other' } : { name: 'Other' }),
          expected: due(changeStatus(world, thing, one.by, { onShare: true })),
        }
      }
      case 'put': {
        const thing = this.#thing(one.of)
        if (thing === null) return nothing
        const status = changeStatus(world, thing, one.by, { inTrash: true })
        const trashed = thing.status === 'trashed'
        const forbids =
          one.how === 'permanent-delete' ? !trashed : trashed && one.how !== 'trash' && one.how !== 'restore'
        return {
          status:
            one.how === 'trash'
              ? await by.delete(chatPath(thing))
              : one.how === 'permanent-delete'
                ? await by.delete(`${chatPath(thing)}/permanent-delete`)
                : await by.post(`${chatPath(thing)}/${one.how}`),
          expected: due(status || (forbids ? 409 : 0)),
          done: () => this.#put(thing, one.how),
        }
      }
      case 'share': {
        const thing = this.#thing(one.of)
        if (thing === null) return nothing
        const to = 'who' in one.to ? one.to.who : this.#workspace(one.to.at)
        return {
          status: await by.post('/shares', {
            resource_type: thing.kind,
            resource_id: thing.id,
            grantee: typeof to === 'number' ? { user_id: this.#people[to]!.id } : { workspace_id: to.id },
            access: one.access,
          }),
          expected: due(shareStatus(world, { thing, to, access: one.access }, one.by), 201),
          done: ({ body }) => void world.shares.push({ id: body.data.id, thing, to, access: one.access }),
        }
      }
      case 'unshare': {
        const share = world.shares[one.share % Math.max(1, world.shares.length)]
        if (share === undefined) return nothing
        return {
          status: await by.delete('/shares', { share_id: share.id }),
          expected: due(unshareStatus(share, one.by)),
          done: () => void (world.shares = world.shares.filter((other) => other !== share)),
        }
      }
    }
  }

  #workspace(n: number): Workspace {
    const { workspaces } = this.#world
    return workspaces[n % workspaces.length]!
  }

  #thing(n: number, kind?: Kind): Thing | null {
    const all = [...this.#world.things.values()].filter((thing) => kind === undefined || thing.kind === kind)
    return all[n % Math.max(1, all.length)] ?? null
  }

  #add(id: string, kind: Kind, workspace: Workspace, more: Partial<Thing>): void {
    this.#world.things.set(id, {
      id,
      kind,
      workspace,
      status: 'active',
      from: 'active',
      agent: null,
      messages: [],
      head: null,
      ...more,
    })
  }

  #put(thing: Thing, how: Extract<Step, { do: 'put' }>['how']): void {
    if (how === 'permanent-delete') this.#forget(thing)
    else if (how === 'restore') thing.status = thing.status === 'trashed' ? thing.from : thing.status
    else if (how !== 'trash') thing.status = how === 'archive' ? 'archived' : 'active'
    else if (thing.status !== 'trashed') {
      thing.from = thing.status
      thing.status = 'trashed'
    }
  }

  #drop(workspace: Workspace): void {
    const world = this.#world
    world.workspaces = world.workspaces.filter((other) => other !== workspace)
    for (const thing of world.things.values()) if (thing.workspace === workspace) this.#forget(thing)
    world.shares = world.shares.filter(({ to }) => to !== workspace)
  }

  #forget(thing: Thing): void {
    this.#world.things.delete(thing.id)
    this.#world.shares = this.#world.shares.filter((share) => share.thing !== thing)
  }

  /** Everybody looks at everything by its id; these look at what is listed for them, too. */
  compare(listers: readonly Who[]): Promise<{ seen: number; hidden: number }> {
    return compare(this.#people, this.#world, listers)
  }
}

/** A step for which there is nothing yet. */
const nothing = { status: { status: 200, text: '' } as Answer, expected: { status: 0, ok: 200 } }
const whole = (role: Role): Place => ({ role, permissions: null })
const copied = ({ messages, head }: Thing): Pick<Thing, 'messages' | 'head'> => ({
  messages: messages.map((message) => ({ ...message, id: null })),
  head,
})
const inLine = (path: readonly Said[]): Pick<Thing, 'messages' | 'head'> => ({
  messages: path.map(({ text }, i) => ({ text, parent: i === 0 ? null : i - 1, id: null })),
  head: path.length === 0 ? null : path.length - 1,
})
