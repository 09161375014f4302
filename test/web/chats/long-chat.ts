import pg from 'pg'
import type { Person, TestServer } from '../../server.ts'

/** Creates a chat with messages `Number 1.` to `Number <count>.` directly in the database. */
export async function longChat(server: TestServer, person: Person, count: number, model = 'sim/echo'): Promise<string> {
  const chat = (await person.post('/chats', { title: `Of ${count}`, model })).body.data
  const client = new pg.Client(server.database.connection)
  await client.connect()
  // IDs in order, and unique to this chat.
  const id = (i: string): string => `substr($1::text, 1, 18) || lpad((${i})::text, 8, '0')`
  await client.query(
    `insert into messages (id, chat_id, parent_id, line_id, depth, seq, role, status, content, text)
      select ${id('i')}, $1::text, case when i > 1 then ${id('i - 1')} end, ${id('1')}, i - 1, i,
        case when i % 2 = 1 then 'user' else 'assistant' end, 'completed',
        jsonb_build_array(jsonb_build_object('type', 'text', 'text', words)), words
      from generate_series(1, ${count}) i
        cross join lateral (select 'Number ' || i || '. ' || repeat('some words of it ', 1 + i % 60) as words) w`,
    [chat.id],
  )
  await client.query(
    `update chats set head_message_id = ${id(String(count))}, last_seq = ${count} where id = $1::ulid`,
    [chat.id],
  )
  await client.end()
  return chat.id
}
