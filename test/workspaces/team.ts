/** Teams as the tests of workspaces make them, by invitation. */
import assert from 'node:assert/strict'
import type { Caller, Person, TestServer } from '../server.ts'

/** A workspace of alice's, and whom she let in by invitation, each with a role. */
export async function team(server: TestServer, ...roles: string[]) {
  const alice = await server.person('Alice')
  const made = await alice.post('/workspaces', { name: 'Team' })
  assert.equal(made.status, 201, made.text)
  const { id } = made.body.data
  const people: Person[] = []
  for (const [i, role] of roles.entries()) {
    const person = await server.person(['Bob', 'Dora', 'Emil'][i]!)
    await join(alice, person, id, { role })
    people.push(person)
  }
  return { alice, id: id as string, at: `/workspaces/${id}`, people }
}

export async function join(inviter: Caller, person: Person, workspaceId: string, grant: object) {
  const invited = await inviter.post(`/workspaces/${workspaceId}/invitations`, { email: person.email, ...grant })
  assert.equal(invited.status, 201, invited.text)
  const accepted = await person.post('/invitations/accept', { token: invited.body.data.token })
  assert.equal(accepted.status, 200, accepted.text)
  return accepted.body.data
}

/** The status of an answer, and the code of its refusal. */
export const code = ({ status, body }: { status: number; body: { error?: { code?: string } } }) => [
  status,
  body.error?.code,
]
