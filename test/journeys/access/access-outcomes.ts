import assert from 'node:assert/strict'
import type { Answer, Person } from '../../server.ts'
import {
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
  type Said,
  type Thing,
  unshareStatus,
} from './access-rules.ts'
import { type Stage, whole } from './access-stage.ts'
import type { Step } from './access-steps.ts'

export interface Outcome {
  status: Answer
  /** The refusal's status, or 0 and the status of success. */
  expected: { status: number; ok: number }
  /** Changes the world after a success. */
  done?: (answer: Answer) => void | Promise<void>
}

/** Takes a step. Returns the server's answer, the answer it must be, and the change of the world. */
export async function outcomeOf(stage: Stage, one: Step): Promise<Outcome> {
  const by = stage.people[one.by]!
  switch (one.do) {
    case 'workspace':
      return createWorkspace(stage, one, by)
    case 'invite':
      return invite(stage, one, by)
    case 'remove':
      return removeMember(stage, one, by)
    case 'keep':
      return keepWorkspace(stage, one, by)
    case 'make':
      return makeThing(stage, one, by)
    case 'send':
      return sendMessage(stage, one, by)
    case 'copy':
      return copyThing(stage, one, by)
    case 'adopt':
      return adoptChat(stage, one, by)
    case 'move':
      return moveAgent(stage, one, by)
    case 'rename':
      return renameThing(stage, one, by)
    case 'put':
      return putThing(stage, one, by)
    case 'share':
      return shareThing(stage, one, by)
    case 'unshare':
      return unshareThing(stage, one, by)
  }
}

const due = (status: number, ok = 200) => ({ status, ok })
const chatPath = (thing: Thing): string => `/${thing.kind}s/${thing.id}`

async function createWorkspace(stage: Stage, one: Extract<Step, { do: 'workspace' }>, by: Person): Promise<Outcome> {
  return {
    status: await by.post('/workspaces', { name: 'Team' }),
    expected: due(0, 201),
    done: ({ body }) =>
      void stage.world.workspaces.push({
        id: body.data.id,
        personal: false,
        archived: false,
        members: new Map([[one.by, whole('owner')]]),
      }),
  }
}

async function invite(stage: Stage, one: Extract<Step, { do: 'invite' }>, by: Person): Promise<Outcome> {
  const workspace = stage.workspace(one.at)
  const { email } = stage.people[one.who]!
  return {
    status: await by.post(`/workspaces/${workspace.id}/invitations`, { email, ...one.place }),
    expected: due(inviteStatus(workspace, one.by, one.who, one.place), 201),
    done: async ({ body }) => {
      const answer = await stage.people[one.who]!.post('/invitations/accept', { token: body.data.token })
      assert.equal(answer.status, 200, answer.text)
      workspace.members.set(one.who, one.place)
    },
  }
}

async function removeMember(stage: Stage, one: Extract<Step, { do: 'remove' }>, by: Person): Promise<Outcome> {
  const workspace = stage.workspace(one.at)
  return {
    status: await by.delete(`/workspaces/${workspace.id}/members/${stage.people[one.who]!.id}`),
    expected: due(removeStatus(workspace, one.by, one.who)),
    done: () => void workspace.members.delete(one.who),
  }
}

async function keepWorkspace(stage: Stage, one: Extract<Step, { do: 'keep' }>, by: Person): Promise<Outcome> {
  const workspace = stage.workspace(one.at)
  const at = `/workspaces/${workspace.id}`
  if (one.how === 'delete')
    return {
      status: await by.delete(`${at}?confirm=Team`),
      expected: due(keepStatus(workspace, one.by, 'owner')),
      done: () => stage.drop(workspace),
    }
  return {
    status: await by.post(`${at}/${one.how}`),
    expected: due(keepStatus(workspace, one.by, 'admin')),
    done: () => void (workspace.archived = one.how === 'archive'),
  }
}

async function makeThing(stage: Stage, one: Extract<Step, { do: 'make' }>, by: Person): Promise<Outcome> {
  const workspace = stage.workspace(one.at)
  const agent = one.kind === 'chat' && one.agent !== null ? stage.thing(one.agent, 'agent') : null
  const fields =
    one.kind === 'agent'
      ? { name: 'Helper', model: 'sim/echo' }
      : { title: 'A chat', model: 'sim/echo', agent_id: agent?.id ?? null }
  return {
    status: await by.post(`/${one.kind}s`, { workspace_id: workspace.id, ...fields }),
    expected: due(targetStatus(workspace, one.by, one.kind) || (agent === null ? 0 : namedStatus(agent, one.by)), 201),
    done: ({ body }) => stage.add(body.data.id, one.kind, workspace, { agent: agent?.id ?? null }),
  }
}

async function sendMessage(stage: Stage, one: Extract<Step, { do: 'send' }>, by: Person): Promise<Outcome> {
  const chat = stage.thing(one.of, 'chat')
  if (chat === null) return nothing
  const answerPlaces = chat.messages.flatMap((message, i) =>
    message.id !== null && message.text.startsWith('assistant') ? i : [],
  )
  const parent =
    one.parent === null || answerPlaces.length === 0 ? null : answerPlaces[one.parent % answerPlaces.length]!
  const words = `words ${stage.sentMessages++}`
  const status = changeStatus(stage.world, chat, one.by, { scope: 'chat:run', onShare: true })
  return {
    status: await by.post(`/chats/${chat.id}/messages`, {
      content: words,
      parent_id: parent === null ? null : chat.messages[parent]!.id,
    }),
    expected: due(status || (answers(stage.world, chat, one.by) && chat.status === 'active' ? 0 : 409)),
    done: ({ body: { data } }) => {
      const at = chat.messages.push({ parent, text: `user ${words}`, id: data.parent_id }) - 1
      chat.head = chat.messages.push({ parent: at, text: `assistant ${words}`, id: data.id }) - 1
    },
  }
}

async function copyThing(stage: Stage, one: Extract<Step, { do: 'copy' }>, by: Person): Promise<Outcome> {
  const thing = stage.thing(one.of)
  if (thing === null) return nothing
  const workspace = stage.workspace(one.at)
  const how = thing.kind === 'agent' || one.how === 'copy' ? 'copy-to-workspace' : 'fork-to-workspace'
  return {
    status: await by.post(`${chatPath(thing)}/${how}`, { workspace_id: workspace.id }),
    expected: due(readStatus(stage.world, thing, one.by) || targetStatus(workspace, one.by, thing.kind), 201),
    done: ({ body }) => {
      const agent = thing.agent === null ? null : (stage.world.things.get(thing.agent) ?? null)
      const comes = agent !== null && agent.workspace === workspace && namedStatus(agent, one.by) === 0
      stage.add(body.data.id, thing.kind, workspace, {
        ...(how === 'fork-to-workspace' ? inLine(pathOf(thing)) : copied(thing)),
        agent: comes ? agent.id : null,
      })
    },
  }
}

async function adoptChat(stage: Stage, one: Extract<Step, { do: 'adopt' }>, by: Person): Promise<Outcome> {
  const chat = stage.thing(one.of, 'chat')
  const agent = stage.thing(one.agent, 'agent')
  if (chat === null || agent === null) return nothing
  return {
    status: await by.post(`/chats/${chat.id}/copy-to-agent`, { agent_id: agent.id }),
    expected: due(
      readStatus(stage.world, chat, one.by) ||
        namedStatus(agent, one.by) ||
        targetStatus(agent.workspace, one.by, 'chat'),
      201,
    ),
    done: ({ body }) => stage.add(body.data.id, 'chat', agent.workspace, { ...copied(chat), agent: agent.id }),
  }
}

async function moveAgent(stage: Stage, one: Extract<Step, { do: 'move' }>, by: Person): Promise<Outcome> {
  const agent = stage.thing(one.of, 'agent')
  if (agent === null) return nothing
  const workspace = stage.workspace(one.at)
  return {
    status: await by.post(`/agents/${agent.id}/move`, { workspace_id: workspace.id }),
    expected: due(changeStatus(stage.world, agent, one.by) || targetStatus(workspace, one.by, 'agent')),
    done: () => void (agent.workspace = workspace),
  }
}

async function renameThing(stage: Stage, one: Extract<Step, { do: 'rename' }>, by: Person): Promise<Outcome> {
  const thing = stage.thing(one.of)
  if (thing === null) return nothing
  return {
    status: await by.patch(chatPath(thing), thing.kind === 'chat' ? { title: 'Other' } : { name: 'Other' }),
    expected: due(changeStatus(stage.world, thing, one.by, { onShare: true })),
  }
}

async function putThing(stage: Stage, one: Extract<Step, { do: 'put' }>, by: Person): Promise<Outcome> {
  const thing = stage.thing(one.of)
  if (thing === null) return nothing
  const status = changeStatus(stage.world, thing, one.by, { inTrash: true })
  const trashed = thing.status === 'trashed'
  const forbids = one.how === 'permanent-delete' ? !trashed : trashed && one.how !== 'trash' && one.how !== 'restore'
  return {
    status:
      one.how === 'trash'
        ? await by.delete(chatPath(thing))
        : one.how === 'permanent-delete'
          ? await by.delete(`${chatPath(thing)}/permanent-delete`)
          : await by.post(`${chatPath(thing)}/${one.how}`),
    expected: due(status || (forbids ? 409 : 0)),
    done: () => stage.put(thing, one.how),
  }
}

async function shareThing(stage: Stage, one: Extract<Step, { do: 'share' }>, by: Person): Promise<Outcome> {
  const thing = stage.thing(one.of)
  if (thing === null) return nothing
  const to = 'who' in one.to ? one.to.who : stage.workspace(one.to.at)
  return {
    status: await by.post('/shares', {
      resource_type: thing.kind,
      resource_id: thing.id,
      grantee: typeof to === 'number' ? { user_id: stage.people[to]!.id } : { workspace_id: to.id },
      access: one.access,
    }),
    expected: due(shareStatus(stage.world, { thing, to, access: one.access }, one.by), 201),
    done: ({ body }) => void stage.world.shares.push({ id: body.data.id, thing, to, access: one.access }),
  }
}

async function unshareThing(stage: Stage, one: Extract<Step, { do: 'unshare' }>, by: Person): Promise<Outcome> {
  const share = stage.world.shares[one.share % Math.max(1, stage.world.shares.length)]
  if (share === undefined) return nothing
  return {
    status: await by.delete('/shares', { share_id: share.id }),
    expected: due(unshareStatus(share, one.by)),
    done: () => void (stage.world.shares = stage.world.shares.filter((other) => other !== share)),
  }
}

/** The outcome of a step that has nothing to act on yet. */
const nothing = { status: { status: 200, text: '' } as Answer, expected: { status: 0, ok: 200 } }
const copied = ({ messages, head }: Thing): Pick<Thing, 'messages' | 'head'> => ({
  messages: messages.map((message) => ({ ...message, id: null })),
  head,
})
const inLine = (path: readonly Said[]): Pick<Thing, 'messages' | 'head'> => ({
  messages: path.map(({ text }, i) => ({ text, parent: i === 0 ? null : i - 1, id: null })),
  head: path.length === 0 ? null : path.length - 1,
})
