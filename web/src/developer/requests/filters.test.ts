import assert from 'node:assert/strict'
import { test } from 'node:test'
import { filtersIn, queryOf } from './filters.ts'

test('the address is parsed as filters, and unknown values are ignored', () => {
  assert.deepEqual(filtersIn({}), {})
  assert.deepEqual(
    filtersIn({ status: 'failed', model: ' a/b ', from: '2026-11-01', to: 'yesterday', key: '', x: 1 }),
    {
      status: 'failed',
      model: 'a/b',
      from: '2026-11-01',
    },
  )
  assert.deepEqual(filtersIn({ status: 'unknown', whose: 7 }), {})
})

test('filters use the parameter names of the API', () => {
  assert.deepEqual(queryOf({ whose: 'instance', key: 'k', error: 'no_route' }), {
    instance: true,
    key_id: 'k',
    error_code: 'no_route',
  })
  assert.deepEqual(queryOf({ whose: 'W', model: 'a/b' }), { workspace_id: 'W', model: 'a/b' })
})
