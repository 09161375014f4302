import { createRoute, createRouter, lazyRouteComponent, redirect } from '@tanstack/react-router'
import { agentViewIn, agentsViewIn, automationsViewIn, operationsViewIn } from '../shared/views/lists.ts'
import { queryClient } from '../shared/api.ts'
import { firstPartOf, placeIn } from '../computers/place.ts'
import { computerQuery } from '../computers/queries.ts'
import { isNew } from '../home/first-run/new.ts'
import { developerRoutes } from './developer.ts'
import { doorRoutes, entryRoutes, root } from './entry.ts'
import { shell } from './shell.ts'
import { modelsIn } from '../models/view.ts'
import { driveIn, fileIn } from '../drive/where.ts'
import { workspacesQuery } from '../shared/session.ts'
import { Broken } from '../shell/states/broken.tsx'
import { Missing } from '../shell/states/missing.tsx'
import { viewIn as searchIn } from '../search/view.ts'
import { viewIn } from '../shared/views/usage.ts'

const home = createRoute({
  getParentRoute: () => shell,
  path: '/',
  // Redirects happen before the page renders: inside the page, they could override a navigation made in the meantime.
  beforeLoad: async () => {
    if (await isNew()) throw redirect({ to: '/welcome', replace: true })
  },
  component: lazyRouteComponent(() => import('../home/home.tsx'), 'Home'),
})
const welcome = createRoute({
  getParentRoute: () => shell,
  path: '/welcome',
  component: lazyRouteComponent(() => import('../home/first-run/welcome.tsx'), 'Welcome'),
})
const search = createRoute({
  getParentRoute: () => shell,
  path: '/search',
  validateSearch: searchIn,
  component: lazyRouteComponent(() => import('../search/search.tsx'), 'SearchPage'),
})
const nowhere = createRoute({ getParentRoute: () => shell, path: '/$', component: Missing })
const developer = createRoute({
  getParentRoute: () => shell,
  path: '/settings/developer',
  component: lazyRouteComponent(() => import('../developer/developer.tsx'), 'Developer'),
})
const security = createRoute({
  getParentRoute: () => shell,
  path: '/settings/security',
  component: lazyRouteComponent(() => import('../security/security.tsx'), 'Security'),
})
const instance = createRoute({
  getParentRoute: () => shell,
  path: '/admin/instance',
  component: lazyRouteComponent(() => import('../instance/instance.tsx'), 'InstancePage'),
})
const invitations = createRoute({
  getParentRoute: () => shell,
  path: '/invitations',
  component: lazyRouteComponent(() => import('../invitations/invitations.tsx'), 'Invitations'),
})
const workspaces = createRoute({
  getParentRoute: () => shell,
  path: '/workspaces',
  beforeLoad: async () => {
    const workspaces = await queryClient.ensureQueryData(workspacesQuery)
    const likely = workspaces.find(({ kind }) => kind === 'team') ?? workspaces[0]
    throw redirect(
      likely ? { to: '/workspaces/$id', params: { id: likely.id }, replace: true } : { to: '/', replace: true },
    )
  },
})
const workspace = createRoute({
  getParentRoute: () => shell,
  path: '/workspaces/$id',
  component: lazyRouteComponent(() => import('../team/team.tsx'), 'Team'),
})
const chats = createRoute({
  getParentRoute: () => shell,
  path: '/chats',
  component: lazyRouteComponent(() => import('../chats/chats.tsx'), 'ChatsPage'),
})
const accounts = createRoute({
  getParentRoute: () => shell,
  path: '/accounts',
  component: lazyRouteComponent(() => import('../accounts/accounts.tsx'), 'Accounts'),
})
const chat = createRoute({
  getParentRoute: () => shell,
  path: '/chats/$id',
  staticData: { whole: true },
  component: lazyRouteComponent(() => import('../chats/chat.tsx'), 'ChatPage'),
})
const agents = createRoute({
  getParentRoute: () => shell,
  path: '/agents',
  validateSearch: agentsViewIn,
  component: lazyRouteComponent(() => import('../agents/agents.tsx'), 'AgentsPage'),
})
const agent = createRoute({
  getParentRoute: () => shell,
  path: '/agents/$id',
  validateSearch: agentViewIn,
  staticData: { whole: true },
  component: lazyRouteComponent(() => import('../agents/agent.tsx'), 'AgentPage'),
})
const automations = createRoute({
  getParentRoute: () => shell,
  path: '/automations',
  validateSearch: automationsViewIn,
  component: lazyRouteComponent(() => import('../automations/automations.tsx'), 'AutomationsPage'),
})
const automation = createRoute({
  getParentRoute: () => shell,
  path: '/automations/$id',
  component: lazyRouteComponent(() => import('../automations/automation.tsx'), 'AutomationPage'),
})
const automationRun = createRoute({
  getParentRoute: () => shell,
  path: '/automations/$id/runs/$run',
  component: lazyRouteComponent(() => import('../automations/runs/run.tsx'), 'RunPage'),
})
const operations = createRoute({
  getParentRoute: () => shell,
  path: '/operations',
  validateSearch: operationsViewIn,
  component: lazyRouteComponent(() => import('../operations/operations.tsx'), 'OperationsPage'),
})
const operation = createRoute({
  getParentRoute: () => shell,
  path: '/operations/$id',
  component: lazyRouteComponent(() => import('../operations/operation.tsx'), 'OperationPage'),
})
const computers = createRoute({
  getParentRoute: () => shell,
  path: '/computers',
  component: lazyRouteComponent(() => import('../computers/computers.tsx'), 'Computers'),
})
const aComputer = {
  getParentRoute: () => shell,
  staticData: { whole: true },
  component: lazyRouteComponent(() => import('../computers/computer.tsx'), 'ComputerPage'),
}
const computer = createRoute({
  ...aComputer,
  path: '/computers/$id',
  beforeLoad: async ({ params: { id } }) => {
    // The page shows an error for unreadable values.
    const computerRow = await queryClient.ensureQueryData(computerQuery(id)).catch(() => null)
    if (computerRow)
      throw redirect({ to: '/computers/$id/$part', params: { id, part: firstPartOf(computerRow) }, replace: true })
  },
})
const computerPart = createRoute({ ...aComputer, path: '/computers/$id/$part', validateSearch: placeIn })
const drive = createRoute({
  getParentRoute: () => shell,
  path: '/drive',
  validateSearch: driveIn,
  staticData: { whole: true },
  component: lazyRouteComponent(() => import('../drive/drive.tsx'), 'DrivePage'),
})
const driveFolder = createRoute({
  getParentRoute: () => shell,
  path: '/drive/f/$folder',
  validateSearch: driveIn,
  staticData: { whole: true },
  component: lazyRouteComponent(() => import('../drive/drive.tsx'), 'FolderRoute'),
})
const driveTrash = createRoute({
  getParentRoute: () => shell,
  path: '/drive/trash',
  validateSearch: driveIn,
  component: lazyRouteComponent(() => import('../drive/trash.tsx'), 'TrashPage'),
})
const driveFile = createRoute({
  getParentRoute: () => shell,
  path: '/drive/file/$id',
  validateSearch: fileIn,
  staticData: { whole: true },
  component: lazyRouteComponent(() => import('../drive/file/file-page.tsx'), 'FilePage'),
})
const shared = createRoute({
  getParentRoute: () => shell,
  path: '/shared-with-me',
  component: lazyRouteComponent(() => import('../shares/shares.tsx'), 'SharedWithMe'),
})
const sharedByMe = createRoute({
  getParentRoute: () => shell,
  path: '/shared-by-me',
  component: lazyRouteComponent(() => import('../shares/shares.tsx'), 'SharedByMe'),
})
const share = createRoute({
  getParentRoute: () => shell,
  path: '/share',
  component: lazyRouteComponent(() => import('../install/share.tsx'), 'Share'),
})
const inbox = createRoute({
  getParentRoute: () => shell,
  path: '/inbox',
  component: lazyRouteComponent(() => import('../inbox/inbox.tsx'), 'Inbox'),
})
const notifications = createRoute({
  getParentRoute: () => shell,
  path: '/settings/notifications',
  component: lazyRouteComponent(() => import('../notifications/notifications.tsx'), 'Notifications'),
})
const routing = createRoute({
  getParentRoute: () => shell,
  path: '/ai-routing',
  component: lazyRouteComponent(() => import('../routing/routing.tsx'), 'Routing'),
})
const providers = createRoute({
  getParentRoute: () => routing,
  path: '/',
  component: lazyRouteComponent(() => import('../routing/providers.tsx'), 'Providers'),
})
const models = createRoute({
  getParentRoute: () => routing,
  path: '/models',
  validateSearch: modelsIn,
  component: lazyRouteComponent(() => import('../models/models.tsx'), 'ModelsPage'),
})
const gatewayKeys = createRoute({
  getParentRoute: () => routing,
  path: '/keys',
  component: lazyRouteComponent(() => import('../routing/gateway-keys.tsx'), 'GatewayKeys'),
})
const preview = createRoute({
  getParentRoute: () => routing,
  path: '/preview',
  component: lazyRouteComponent(() => import('../preview/preview.tsx'), 'Preview'),
})
const usage = createRoute({
  getParentRoute: () => routing,
  path: '/usage',
  validateSearch: viewIn,
  component: lazyRouteComponent(() => import('../usage/usage.tsx'), 'UsagePage'),
})

export const router = createRouter({
  basepath: '/app',
  routeTree: root.addChildren([
    entryRoutes,
    doorRoutes,
    shell.addChildren([
      home,
      welcome,
      search,
      developer,
      security,
      ...developerRoutes,
      inbox,
      notifications,
      invitations,
      workspaces,
      workspace,
      accounts,
      instance,
      chats,
      chat,
      agents,
      agent,
      automations,
      automation,
      automationRun,
      operations,
      operation,
      computers,
      computer,
      computerPart,
      drive,
      driveFolder,
      driveTrash,
      driveFile,
      shared,
      sharedByMe,
      share,
      routing.addChildren([providers, preview, models, gatewayKeys, usage]),
      nowhere,
    ]),
  ]),
  defaultPreload: 'intent',
  defaultErrorComponent: Broken,
  notFoundMode: 'root',
  scrollRestoration: true,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
  interface StaticDataRouteOption {
    /** The page fills the space next to the navigation and scrolls on its own. */
    whole?: boolean
  }
}
