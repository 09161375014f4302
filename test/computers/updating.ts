import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { join } from 'node:path'
import { after } from 'node:test'
import { type Caller, type Person, type TestServer, caller, testServer } from '../server.ts'
import { type Machine, laterClone, machine } from './installed.ts'
import type { TamperingProxy } from './tampering.ts'

/** An instance that is updated, and one user's machines. */
export interface Updating {
  server: TestServer
  alice: Person
  /** The instance as a later version, with replacements in its source. */
  updated(version: string, edits?: Parameters<typeof laterClone>[1]): Promise<TestServer>
  installed(proxy: TamperingProxy, words?: readonly string[]): Promise<Machine>
  show(id: string): Promise<any>
  /** The user at another process. */
  at(server: TestServer): Caller
}

/** Shared by a file's tests and removed after them. */
export async function updating(): Promise<Updating> {
  const server = await testServer()
  after(() => server[Symbol.asyncDispose]())
  const alice = await server.person('Alice')
  return {
    server,
    alice,
    async updated(version, edits = {}) {
      const clone = laterClone(version, edits)
      const twin = await server.twin({ UK_DATA_DIR: join(clone.root, 'data') }, { programRoot: clone.root })
      return {
        ...twin,
        async [Symbol.asyncDispose]() {
          await twin[Symbol.asyncDispose]()
          clone[Symbol.dispose]()
        },
      }
    },
    async installed(proxy, words = []) {
      const box = machine()
      const { code, output } = await box.install(proxy.origin, alice, words)
      assert.equal(code, 0, output)
      return box
    },
    show: async (id) => (await alice.get(`/computers/${id}`)).body.data,
    at: ({ origin }) => caller(origin, alice.headers),
  }
}

/** The release served for this platform. */
export async function releaseAt(origin: string): Promise<string> {
  const manifest = await (await fetch(`${origin}/install/${process.platform}-${process.arch}`)).text()
  return hash('sha256', manifest)
}
