"""A generator and a discriminator: both step in each iteration, which is one step."""

import torch

from tiny import Model, loader, say

generator, critic, n = torch.nn.Linear(8, 8), Model(), 0
of_generator = torch.optim.Adam(generator.parameters(), lr=1e-3)
of_critic = torch.optim.Adam(critic.parameters(), lr=1e-3)
for _ in range(2):
    for x, _ in loader():
        of_critic.zero_grad()
        (critic(generator(torch.randn_like(x)).detach()) - critic(x)).mean().backward()
        of_critic.step()
        of_generator.zero_grad()
        (-critic(generator(torch.randn_like(x)))).mean().backward()
        of_generator.step()
        n += 1
say(TRAIN=n)
