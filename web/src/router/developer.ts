import { createRoute, lazyRouteComponent, redirect } from '@tanstack/react-router'
import { filtersIn } from '../developer/requests/filters.ts'
import { deliveriesIn } from '../developer/webhooks/view.ts'
import { shell } from './shell.ts'

const developerTools = createRoute({
  getParentRoute: () => shell,
  path: '/developer',
  beforeLoad: () => {
    throw redirect({ to: '/developer/requests', search: {}, replace: true })
  },
})
const requests = createRoute({
  getParentRoute: () => shell,
  path: '/developer/requests',
  validateSearch: filtersIn,
  component: lazyRouteComponent(() => import('../developer/requests/requests.tsx'), 'Requests'),
})
const request = createRoute({
  getParentRoute: () => shell,
  path: '/developer/requests/$id',
  component: lazyRouteComponent(() => import('../developer/requests/request.tsx'), 'RequestPage'),
})
const playground = createRoute({
  getParentRoute: () => shell,
  path: '/developer/playground',
  validateSearch: ({ op }: Record<string, unknown>): { op?: string } => (typeof op === 'string' ? { op } : {}),
  component: lazyRouteComponent(() => import('../developer/playground/playground.tsx'), 'Playground'),
})
const webhooks = createRoute({
  getParentRoute: () => shell,
  path: '/developer/webhooks',
  validateSearch: ({ workspace }: Record<string, unknown>): { workspace?: string } =>
    typeof workspace === 'string' ? { workspace } : {},
  component: lazyRouteComponent(() => import('../developer/webhooks/webhooks.tsx'), 'Webhooks'),
})
const webhook = createRoute({
  getParentRoute: () => shell,
  path: '/developer/webhooks/$id',
  validateSearch: deliveriesIn,
  component: lazyRouteComponent(() => import('../developer/webhooks/webhook.tsx'), 'WebhookPage'),
})

export const developerRoutes = [developerTools, requests, request, webhooks, webhook, playground] as const
