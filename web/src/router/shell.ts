import { createRoute, lazyRouteComponent, redirect } from '@tanstack/react-router'
import { queryClient } from '../shared/api.ts'
import { keptToken } from '../shared/invitations/token.ts'
import { sessionQuery } from '../shared/session.ts'
import { BrokenAlone } from '../shell/states/broken.tsx'
import { root } from './entry.ts'

export const shell = createRoute({
  getParentRoute: () => root,
  id: 'shell',
  beforeLoad: async ({ location }) => {
    // Invitation links open the invitation first.
    if (location.pathname === '/invitations' && keptToken() !== null)
      throw redirect({ to: '/invitation', replace: true })
    const session = await queryClient.ensureQueryData(sessionQuery)
    if (session) return
    throw redirect({ to: '/sign-in', search: location.pathname === '/' ? {} : { next: location.href }, replace: true })
  },
  component: lazyRouteComponent(() => import('../shell/shell.tsx'), 'Shell'),
  errorComponent: BrokenAlone,
})
